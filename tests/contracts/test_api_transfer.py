"""Export and import over HTTP: what goes out comes in as it was, and nobody sees or overwrites what is not theirs."""

import gzip
import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from openbrain import limits
from openbrain.auth import Permission
from openbrain.memory import DAY
from openbrain.ports.access import WorkspaceChange
from tests.api_support import Brain, brain, http, offer, refused, remembered, unknown_id
from tests.transfer_support import Line, as_file, differences, lines_of, of_kind, told

__all__ = ["brain"]

EVERYTHING = frozenset(Permission)
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture(params=["sqlite", "mariadb"])
def brain_database_url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    if request.param == "mariadb":
        return str(request.getfixturevalue("mariadb_url"))
    return f"sqlite+aiosqlite:///{tmp_path}/truth.db"


async def admin(brain: Brain, workspace: str = "w1", agent: str = "ada") -> str:
    return await brain.key(workspace, agent, permissions=EVERYTHING)


async def export(client: httpx.AsyncClient, **params: Any) -> bytes:
    response = await client.get("/v1/brain/export", params=params)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-ndjson"
    return response.content


async def take_in(client: httpx.AsyncClient, body: bytes, **params: Any) -> dict[str, Any]:
    response = await client.post("/v1/brain/import", content=body, params=params, headers=NDJSON)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    assert answer["data"] == {name: value for name, value in answer.items() if name != "data"}
    return answer


async def lived(brain: Brain, client: httpx.AsyncClient) -> None:
    """A workspace in which things happened: chains, edits, ends, private memories, duplicates that were allowed."""
    first, second, third, fourth, fifth = await remembered(client, "one", "two", "three", "four", "five", tags=["a"])
    brain.clock.advance(DAY)
    await client.patch(f"/v1/brain/memories/{second}", json={"content": "two, edited", "metadata": {"n": 1.5}})
    brain.clock.advance(DAY)
    newer = (await client.post("/v1/brain/remember", json=offer("one, newer", supersedes=first))).json()["id"]
    await client.post("/v1/brain/remember", json=offer("one, newest", supersedes=newer))
    await client.request("DELETE", f"/v1/brain/forget/{third}", json={"reason": "wrong"})
    await client.patch(f"/v1/brain/memories/{fourth}", json={"confirm": True})
    for number in range(3):
        await client.patch(f"/v1/brain/memories/{fifth}", json={"content": f"five, edition {number} ü 😀"})
    await client.post("/v1/brain/remember", json=offer("twice", allow_duplicate=True, embed=False))
    await client.post("/v1/brain/remember", json=offer("twice", occurred_at="1999-12-31T23:59:59.123456Z"))
    await client.post("/v1/brain/remember", json=offer("mine", memory_scope="agent", expires_in=5))
    await client.post(
        "/v1/brain/remember",
        json=offer("said", memory_scope="session", session_id="s1", turn=3, speaker="bob", org="alpha", project="p"),
    )


async def test_a_workspace_moves_as_it_was(brain: Brain) -> None:
    """Out of one workspace and into an empty one of the same server, and from there on: what is told stays the same."""
    async with http(brain.app(), await admin(brain)) as source:
        await lived(brain, source)
        file = await export(source)
    await brain.truth._database.write(_forget_everything)
    brain.clock.advance(DAY)
    async with http(brain.app(), await admin(brain, "w2")) as target:
        answer = await take_in(target, file)
        again = await take_in(target, file)
        copy = await export(target)

    counts = {kind: len(of_kind(file, kind)) for kind in ("memory", "history", "lineage")}
    assert counts == {"memory": 11, "history": 19, "lineage": 2}
    assert (answer["exact"], answer["complete"], answer["refused"]) == (True, True, 0), answer
    assert (answer["created"], answer["history"], answer["lineage"]) == (11, 19, 2)
    assert (again["created"], again["present"], again["history"], again["lineage"]) == (0, 11, 0, 0)
    assert list(differences(file.splitlines(), copy.splitlines())) == []


def _forget_everything(connection: Any) -> None:
    for table in ("memories", "memory_history", "memory_lineage", "outbox"):
        connection.exec_driver_sql(f"DELETE FROM {table}")


async def test_a_copy_beside_its_original_has_ids_of_its_own(brain: Brain) -> None:
    """Every id is taken by another workspace: the copy's chains hold together, and the answer is that of free ids."""
    async with http(brain.app(), await admin(brain)) as source:
        await lived(brain, source)
        file = await export(source)
        before = await export(source)
        async with http(brain.app(), await admin(brain, "w2")) as target:
            first = await take_in(target, file)
            again = await take_in(target, file)
            copy = await export(target)
        after = await export(source)

    assert (first["created"], first["refused"], again["created"], again["present"]) == (11, 0, 0, 11)
    old, new = _ids(file), _ids(copy)
    assert old.keys() == new.keys()
    assert set(old.values()).isdisjoint(new.values())
    renamed = file.decode()
    for name, memory_id in old.items():
        renamed = renamed.replace(memory_id, new[name])
    assert told(renamed.encode()) == told(copy)
    assert told(before) == told(after)


def _ids(body: bytes) -> dict[tuple[Any, ...], str]:
    return {(each["content"], each.get("allow_duplicate")): each["id"] for each in of_kind(body, "memory")}


async def test_only_an_admin_exports_what_is_not_its_own(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as ada:
        await lived(brain, ada)
    async with http(brain.app(), await brain.key(agent="bob")) as bob:
        file = await export(bob)
        own = await export(bob, tags="a")
    contents = {each["content"] for each in of_kind(file, "memory")}

    assert contents == {"one, newest", "two, edited", "four", "five, edition 2 ü 😀", "twice"}
    assert {each["kind"] for each in lines_of(file)} == {"header", "memory", "mark", "footer"}
    assert {each["content"] for each in of_kind(own, "memory")} == contents - {"one, newest", "twice"}
    assert not lines_of(file)[0]["whole"]


async def test_filters_narrow_an_admins_export_too(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as ada:
        await lived(brain, ada)
        found = {
            name: {each["content"] for each in of_kind(await export(ada, **params), "memory")}
            for name, params in {
                "org": {"org": "alpha"},
                "scope": {"include_scopes": "agent"},
                "until": {"until": "2000-01-01T00:00:00Z"},
                "tag": {"tags": "a", "type": "fact"},
            }.items()
        }

    assert found == {
        "org": {"said"},
        "scope": {"mine"},
        "until": {"twice"},
        "tag": {"one", "two, edited", "three", "four", "five, edition 2 ü 😀"},
    }


async def test_an_export_goes_on_from_a_mark(brain: Brain) -> None:
    """Whatever the mark, the two parts together say what the whole says."""
    async with http(brain.app(), await admin(brain)) as ada:
        await remembered(ada, *(f"number {number}" for number in range(120)))
        whole = await export(ada)
        marks = of_kind(whole, "mark")
        assert len(marks) == 2
        rest = await export(ada, cursor=marks[0]["cursor"])
        nothing = await export(ada, cursor=marks[1]["cursor"])

    begun = whole.partition(json.dumps(marks[0]["cursor"]).encode())[0]
    assert told(begun[: begun.rindex(b"\n") + 1] + rest) == told(whole)
    assert [each["kind"] for each in lines_of(nothing)] == ["header", "footer"]
    assert lines_of(rest)[0]["cursor"] == marks[0]["cursor"]


async def test_the_footer_is_the_digest_of_what_stands_before_it(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as ada:
        await lived(brain, ada)
        file = await export(ada)
        packed = await ada.get("/v1/brain/export", headers={"accept-encoding": "gzip"})
        plain = await ada.get("/v1/brain/export", headers={"accept-encoding": "identity"})
    *_, footer = file.splitlines(keepends=True)

    assert json.loads(footer)["digest"] == f"sha256:{hashlib.sha256(file[: -len(footer)]).hexdigest()}"
    assert packed.headers["content-encoding"] == "gzip"
    assert told(packed.content) == told(plain.content) == told(file)
    assert "content-encoding" not in plain.headers


async def test_a_cut_or_changed_file_is_noticed_and_can_be_sent_again(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as source:
        await lived(brain, source)
        file = await export(source)
    await brain.truth._database.write(_forget_everything)
    lines = file.splitlines(keepends=True)
    cut, in_a_line = b"".join(lines[:8]), b"".join(lines[:9])[:-20]
    missing, changed = b"".join([*lines[:3], *lines[4:]]), file.replace(b"edition 1", b"edition 7")
    async with http(brain.app(), await admin(brain, "w2")) as target:
        answers = [await take_in(target, body) for body in (cut, in_a_line, missing, changed, file)]
        copy = await export(target)

    assert [each["complete"] for each in answers] == [False, False, False, False, True]
    assert [each["refused"] for each in answers][:2] == [0, 1]
    assert "cut off" in answers[0]["incomplete"]
    assert "something is missing" in answers[2]["incomplete"]
    assert "digest" in answers[3]["incomplete"]
    assert sum(each["created"] for each in answers) == 11
    assert {each["id"] for each in of_kind(copy, "memory")} == {each["id"] for each in of_kind(file, "memory")}


async def test_packed_files_are_read(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as source:
        await lived(brain, source)
        file = await export(source)
    async with http(brain.app(), await admin(brain, "w2")) as target:
        packed = {**NDJSON, "content-encoding": "gzip"}
        half = len(file) // 2
        body = gzip.compress(file[:half]) + gzip.compress(file[half:])
        response = await target.post("/v1/brain/import", content=body, headers=packed)
        broken = await target.post("/v1/brain/import", content=b"no gzip", headers=packed)

    assert response.json()["complete"]
    refused(broken, 400)


HEADER: Line = {
    "kind": "header",
    "format": "openbrain-export",
    "format_version": 1,
    "export_id": "0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00",
    "exported_at": "2027-01-01T00:00:00Z",
    "workspace_id": "elsewhere",
}
TIMES = dict.fromkeys(("occurred_at", "confirmed_at", "created_at", "updated_at"), "2020-02-02T00:00:00.000001Z")
MEMORY: Line = {"kind": "memory", "type": "fact", "memory_scope": "project", **TIMES}


def memory_line(content: str, **changes: Any) -> Line:
    return {**MEMORY, "id": unknown_id(), "content": content, **changes}


BAD: list[tuple[Any, str, str]] = [
    ({"kind": "memory", "id": "x"}, "id", ""),
    (memory_line("x" * (limits.CONTENT_CHARS + 1)), "content", str(limits.CONTENT_CHARS)),
    (memory_line("bell \x07"), "content", "control"),
    (memory_line("  "), "content", "white space"),
    (memory_line("a", memory_scope="session"), "session_id", "required"),
    (memory_line("a", tags=["t"] * (limits.TAGS + 1)), "tags", str(limits.TAGS)),
    (memory_line("a", metadata={"a": "x" * limits.METADATA_BYTES}), "metadata", str(limits.METADATA_BYTES)),
    (memory_line("a", version=0), "version", "1"),
    (memory_line("a", revision=2**60), "revision", ""),
    (memory_line("a", created_at="2020-01-01T00:00:00"), "created_at", "time zone"),
    (memory_line("a", reason="bored"), "reason", ""),
    ({"kind": "memories"}, "kind", "memory"),
    ({"no": "kind"}, "kind", "memory"),
    ([1], "kind", ""),
    (
        {
            "kind": "history",
            "memory_id": unknown_id(),
            "version": 1,
            "revision": 1,
            "action": "created",
            "actor": "a",
            "at": "2020-02-02T00:00:00Z",
            "before": 5,
        },
        "before",
        "object",
    ),
]


async def test_bad_lines_are_reported_one_by_one_and_the_rest_is_stored(brain: Brain) -> None:
    for permissions in (EVERYTHING, EVERYTHING - {Permission.ADMIN}):
        workspace = f"w-{len(permissions)}"
        good = [memory_line(f"good {number}") for number in range(len(BAD))]
        lines = [HEADER, *(each for pair in zip(good, (bad for bad, _, _ in BAD), strict=True) for each in pair)]
        raw = as_file(lines, footer=False) + b"{not json\n" + b"x" * (limits.LINE_BYTES + 1) + b'\n\n{"kind": "memo'
        async with http(brain.app(), await brain.key(workspace, permissions=permissions)) as client:
            answer = await take_in(client, raw)

        assert answer["created"] == len(good), answer
        assert answer["refused"] == len(BAD) + 3
        assert answer["lines"] == len(lines) + 4
        assert not answer["complete"]
        for (_, field, message), refusal, number in zip(BAD, answer["refusals"], range(3, 99, 2), strict=False):
            assert (refusal["line"], refusal["error"]) == (number, "validation_error")
            assert refusal["field"] == field, refusal
            assert message in refusal["message"]
        assert str(limits.LINE_BYTES) in answer["refusals"][-2]["message"]
        assert "bell" not in json.dumps(answer)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"\n",
        b"# memories\n",
        json.dumps({**HEADER, "format_version": 2}).encode(),
        json.dumps({**HEADER, "format": "mem0"}).encode(),
        json.dumps(MEMORY).encode(),
        b"x" * (limits.LINE_BYTES + 1),
    ],
    ids=["nothing", "an empty line", "markdown", "a later version", "another format", "no header", "a long line"],
)
async def test_another_file_is_refused_whole(brain: Brain, first: bytes) -> None:
    async with http(brain.app(), await admin(brain)) as client:
        response = await client.post("/v1/brain/import", content=first, headers=NDJSON)

    assert "line 1" in refused(response, 422)["field"]


async def test_a_foreign_id_never_overwrites_and_is_answered_like_a_free_one(brain: Brain) -> None:
    """Of another workspace, or of the same one and not to be seen; with an admin's key and with a plain one."""
    async with http(brain.app(), await brain.key("w1", "ada")) as ada:
        (theirs,) = await remembered(ada, "theirs")
        (private,) = await remembered(ada, "private", memory_scope="agent")
    before = await brain.truth.rows([theirs, private])
    bob_key = await brain.key("w1", "bob")
    cases = [
        (await admin(brain, "empty-1", "eve"), await admin(brain, "empty-2", "eve"), theirs),
        (await brain.key("w3", "eve"), await brain.key("w4", "eve"), theirs),
        (bob_key, bob_key, private),
    ]
    for number, (asks, control, taken) in enumerate(cases):
        answers = []
        for key, memory_id in ((asks, taken), (control, unknown_id())):
            lines = [memory_line(f"overwritten {number} {memory_id == taken}", id=memory_id)]
            lines += [
                {
                    "kind": "history",
                    "memory_id": memory_id,
                    "version": 1,
                    "revision": 1,
                    "action": "created",
                    "actor": "eve",
                    "at": "2020-02-02T00:00:00Z",
                },
                {
                    "kind": "lineage",
                    "child_id": memory_id,
                    "parent_id": unknown_id(),
                    "relation": "superseded",
                    "created_at": "2020-02-02T00:00:00Z",
                },
            ]
            async with http(brain.app(), key) as client:
                answers += [
                    (
                        await client.post(
                            "/v1/brain/import", params=params, content=as_file([HEADER, *lines]), headers=NDJSON
                        )
                    ).text
                    for params in ({"dry_run": 1}, {}, {})
                ]

        assert answers[:3] == answers[3:]
        assert json.loads(answers[1])["created"] == 1
        assert json.loads(answers[2])["present"] == 1
    assert await brain.truth.rows([theirs, private]) == before
    assert await brain.truth.history(theirs) == await brain.truth.history(theirs)
    assert [line.actor for line in await brain.truth.history(theirs)] == ["ada"]
    assert (await brain.truth.ancestry(theirs, 5)).parents == ()


async def test_lines_about_a_foreign_memory_are_refused_like_those_about_none(brain: Brain) -> None:
    async with http(brain.app(), await brain.key("w1", "ada")) as ada:
        (theirs,) = await remembered(ada, "theirs")
    answers = []
    async with http(brain.app(), await admin(brain, "empty")) as client:
        for memory_id in (theirs, unknown_id()):
            about = {"kind": "history", "memory_id": memory_id, "version": 1, "revision": 1, "action": "created"}
            lines: list[Line] = [HEADER, {**about, "actor": "eve", "at": "2020-02-02T00:00:00Z"}]
            answers.append((await client.post("/v1/brain/import", content=as_file(lines), headers=NDJSON)).text)

    assert answers[0] == answers[1]
    assert json.loads(answers[0])["refusals"][0]["field"] == "memory_id"
    assert len(await brain.truth.history(theirs)) == 1


async def test_into_a_workspace_that_is_not_empty_they_are_remembered_as_any_other(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as source:
        await lived(brain, source)
        file = await export(source)
    brain.clock.advance(1)
    async with http(brain.app(), await admin(brain, "w2", "eve")) as target:
        await remembered(target, "here before", "four", tags=["own"])
        weighed = await take_in(target, file, dry_run=True)
        first = await take_in(target, file)
        again = await take_in(target, file)
        copy = await export(target)
    found = {each["content"]: each for each in of_kind(copy, "memory")}

    assert (weighed["exact"], weighed["dry_run"]) == (False, True)
    assert {name: weighed[name] for name in ("created", "present", "skipped")} == {
        name: first[name] for name in ("created", "present", "skipped")
    }
    assert (first["created"], first["present"], first["skipped"], first["refused"]) == (7, 1, 3, 0)
    assert (again["created"], again["present"], again["skipped"]) == (0, 8, 3)
    assert found["four"]["tags"] == ["own"]
    assert found["twice"]["occurred_at"].startswith(("1999", "2027"))
    assert found["mine"]["agent_id"] == "ada"
    assert {each["created_at"] for each in of_kind(copy, "memory")} == {found["mine"]["created_at"]}
    assert not of_kind(copy, "lineage")
    assert {each["action"] for each in of_kind(copy, "history")} == {"created"}


async def test_a_plain_key_imports_for_its_own_agent_and_orgs(brain: Brain) -> None:
    lines = [
        HEADER,
        memory_line("for all", created_at="2001-01-01T00:00:00Z", version=7),
        memory_line("ada alone", memory_scope="agent", agent_id="ada"),
        memory_line("of alpha", org="alpha"),
    ]
    async with http(brain.app(), await brain.key("w1", "bob", orgs=("beta",))) as bob:
        answer = await take_in(bob, as_file(lines))
        copy = await export(bob)
    found = {each["content"]: each for each in of_kind(copy, "memory")}

    assert (answer["exact"], answer["created"], answer["refused"]) == (False, 2, 1)
    assert answer["refusals"] == [
        {"line": 4, "error": "forbidden", "message": "this key is not allowed that org"},
    ]
    assert found["ada alone"]["agent_id"] == "bob"
    assert found["for all"]["created_at"].startswith("2027")
    assert found["for all"]["occurred_at"] == TIMES["occurred_at"]
    assert found["for all"]["version"] == 1


async def test_a_dry_run_stores_nothing(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as source:
        await lived(brain, source)
        file = await export(source)
    async with http(brain.app(), await admin(brain, "w2")) as target:
        dry = await take_in(target, file, dry_run=True)
        assert not of_kind(await export(target), "memory")
        wet = await take_in(target, file)

    assert (dry["exact"], dry["dry_run"], wet["dry_run"]) == (True, True, False)
    assert {**dry, "dry_run": False, "data": 0} == {**wet, "data": 0}


async def test_what_was_imported_is_found_and_can_be_changed(brain: Brain) -> None:
    """Also where the indexes remember that it was removed."""
    async with http(brain.app(), await admin(brain)) as source:
        (memory_id,) = await remembered(source, "the harbour freezes in winter")
        for number in range(3):
            await source.patch(f"/v1/brain/memories/{memory_id}", json={"metadata": {"n": number}})
        file = await export(source)
        await source.request("DELETE", f"/v1/brain/forget/{memory_id}")
        await brain.settle()
        await brain.truth._database.write(_forget_everything)
    async with http(brain.app(), await admin(brain, "w2")) as target:
        await take_in(target, file)
        await brain.settle()
        hits = (await target.post("/v1/brain/recall", json={"query": "harbour in winter"})).json()["memories"]
        changed = await target.patch(f"/v1/brain/memories/{memory_id}", json={"content": "it never freezes"})

    assert [(each["id"], each["indexed"], each["version"]) for each in hits] == [(memory_id, True, 4)]
    assert changed.json()["version"] == 5


async def test_an_import_is_an_operation_that_can_be_cancelled(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as source:
        await lived(brain, source)
        file = await export(source)
    lines = file.splitlines(keepends=True)
    async with (
        http(brain.app(), await admin(brain, "w2")) as target,
        http(brain.app(), await admin(brain, "w3")) as other,
    ):
        await take_in(target, b"".join(lines[:5]))
        (begun,) = await brain.truth.operations("w2", 9)
        await brain.truth.cancel_operation("w2", begun.id)
        response = await target.post("/v1/brain/import", content=file, headers=NDJSON)
        await take_in(other, file)
    (ended,), (done,) = [await brain.truth.operations(name, 9) for name in ("w2", "w3")]

    assert (begun.kind, begun.status, begun.actor) == ("import", "running", "ada")
    assert "cancelled" in refused(response, 409)["message"]
    assert (ended.status, done.status) == ("cancelled", "done")


async def test_a_quota_holds_for_an_import_too(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as source:
        await lived(brain, source)
        file = await export(source)
    key = await admin(brain, "w2")
    await brain.truth.change_workspace("w2", WorkspaceChange(max_memories=3))
    async with http(brain.app(), key) as target:
        answer = await take_in(target, file)
        copy = await export(target)

    assert answer["created"] == 0
    assert {each["error"] for each in answer["refusals"]} == {"quota_exceeded"}
    assert not of_kind(copy, "memory")


async def test_nobody_waits_for_an_export_that_nobody_reads(brain: Brain) -> None:
    """The client goes away: no further page is read."""
    key = await admin(brain)
    async with http(brain.app(), key) as ada:
        await remembered(ada, *(f"number {number}" for number in range(60)))
    sent: list[Any] = []
    messages: AsyncIterator[Any] = _request_and_gone()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/brain/export",
        "query_string": b"",
        "headers": [(b"authorization", f"Bearer {key}".encode())],
    }
    await brain.app()(scope, lambda: anext(messages), send)

    assert b"footer" not in b"".join(message.get("body", b"") for message in sent)


async def _request_and_gone() -> AsyncIterator[Any]:
    yield {"type": "http.request", "body": b""}
    yield {"type": "http.disconnect"}
