"""What an import accepts and from whom, and what it leaves alone: nobody sees or overwrites what is not theirs."""

import json
from typing import Any

import pytest

from openbrain.adapters.personal_data.detection import PersonalDataDetector
from openbrain.domain import limits
from openbrain.domain.access.permissions import Permission
from openbrain.ports.content import Action
from openbrain.ports.store.tenants import WorkspaceChange
from openbrain.usecases.content.policy import DetectingPolicy
from tests.support.api.brain import Brain, http, refused, remembered, unknown_id
from tests.support.api.transfer import (
    EVERYTHING,
    HEADER,
    MEMORY,
    NDJSON,
    TIMES,
    Line,
    admin,
    as_file,
    brain_database_url,
    export,
    lived,
    memory_line,
    of_kind,
    take_in,
)

__all__ = ["brain_database_url"]


BAD: list[tuple[Any, str, str]] = [
    ({"kind": "memory", "id": "x"}, "id", ""),
    (memory_line("x" * (limits.CONTENT_CHARS + 1)), "content", str(limits.CONTENT_CHARS)),
    (memory_line("bell \x07"), "content", "control"),
    (memory_line("csi \x1b[31m"), "content", "control"),
    (memory_line("a", metadata={"a": ["csi \x1b[31m"]}), "metadata", "control"),
    (memory_line("  "), "content", "must not be blank"),
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


async def test_of_two_lines_with_one_id_the_first_is_stored(brain: Brain) -> None:
    first = memory_line("the first")
    lines = [HEADER, first, {**first, "content": "the second"}]
    async with http(brain.app(), await brain.key(permissions=EVERYTHING)) as client:
        answer = await take_in(client, as_file(lines, footer=False))
        (shown,) = (await client.get("/v1/brain/list")).json()["memories"]

    assert (answer["exact"], answer["created"], answer["present"]) == (True, 1, 1)
    assert shown["content"] == "the first"


async def test_a_line_that_masks_make_too_long_is_refused(brain: Brain) -> None:
    rules = brain.store.workspaces.personal_data_rules
    app = brain.app(content_policy=DetectingPolicy(personal=PersonalDataDetector(), rules=rules, clock=brain.clock))
    await brain.workspace()
    await brain.store.workspaces.change_workspace("w1", WorkspaceChange(personal_data=Action.MASK))
    long = ("write to a@b.org " * 3000)[: limits.CONTENT_CHARS]
    async with http(app, await brain.key(permissions=EVERYTHING)) as client:
        answer = await take_in(client, as_file([HEADER, memory_line(long), memory_line("good")], footer=False))
        whole = of_kind(await export(client), "memory")

    assert [(each["line"], each["field"]) for each in answer["refusals"]] == [(2, "content")]
    assert [each["content"] for each in whole] == ["good"]


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


@pytest.mark.parametrize(
    "line",
    [
        str(10**30).encode(),
        b"9" * 5000,
        b"NaN",
        b"1e999",
        b'"\\ud800"',
        json.dumps({"\ud800": [2**64]}).encode(),
        json.dumps(memory_line("long number", metadata={"n": 10**30})).encode(),
        json.dumps(memory_line("\ud800")).encode(),
        json.dumps(memory_line("no number", confidence=float("nan"))).encode(),
        b"\xed\xa0\x80",
        b"[" * 100_000,
    ],
    ids=["long", "endless", "nan", "infinite", "half", "half a name", "n", "content", "confidence", "bytes", "deep"],
)
async def test_what_only_some_parsers_read_is_a_bad_line_as_any_other(brain: Brain, line: bytes) -> None:
    async with http(brain.app(), await admin(brain)) as client:
        first = await client.post("/v1/brain/import", content=line, headers=NDJSON)
        answer = await take_in(client, as_file([HEADER, memory_line("good")], footer=False) + line + b"\n")

    assert "line 1" in refused(first, 422)["field"]
    assert (answer["created"], answer["refused"]) == (1, 1), answer
    assert (answer["refusals"][0]["line"], answer["refusals"][0]["error"]) == (3, "validation_error")


async def test_a_foreign_id_never_overwrites_and_is_answered_like_a_free_one(brain: Brain) -> None:
    """In another workspace, or invisible in the same one; with an admin's key and with a plain one."""
    async with http(brain.app(), await brain.key("w1", "ada")) as ada:
        (theirs,) = await remembered(ada, "theirs")
        (private,) = await remembered(ada, "private", memory_scope="agent")
    before = await brain.store.memories.rows([theirs, private])
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
    assert await brain.store.memories.rows([theirs, private]) == before
    assert await brain.store.memories.history(theirs) == await brain.store.memories.history(theirs)
    assert [line.actor for line in await brain.store.memories.history(theirs)] == ["ada"]
    assert (await brain.store.memories.ancestry(theirs, 5)).parents == ()


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
    assert len(await brain.store.memories.history(theirs)) == 1


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


async def test_an_id_that_a_file_names_twice_is_imported_once_and_what_has_expired_is_left_out(brain: Brain) -> None:
    key = await brain.key(permissions=EVERYTHING)
    first = memory_line("the first of that id")
    others = [memory_line("another of that id") | {"id": first["id"]}, memory_line("x", allow_duplicate=True)]
    expired = memory_line("of last year", expires_at="2020-01-01T00:00:00Z")
    raw = as_file([HEADER, first, *others, others[-1], expired])
    async with http(brain.app(), key) as client:
        await remembered(client, "it is not empty")
        answer = await take_in(client, raw)
        again = await take_in(client, raw)
        listed = (await client.get("/v1/brain/list")).json()["memories"]

    names = ("created", "present", "skipped", "refused")
    assert [answer[name] for name in names] == [2, 2, 1, 0]
    assert [again[name] for name in names] == [0, 4, 1, 0]
    assert {each["content"] for each in listed} == {"it is not empty", first["content"], "x"}


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


async def test_a_quota_holds_for_an_import_too(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as source:
        await lived(brain, source)
        file = await export(source)
    key = await admin(brain, "w2")
    await brain.store.workspaces.change_workspace("w2", WorkspaceChange(max_memories=3))
    async with http(brain.app(), key) as target:
        answer = await take_in(target, file)
        copy = await export(target)

    assert answer["created"] == 0
    assert {each["error"] for each in answer["refusals"]} == {"quota_exceeded"}
    assert not of_kind(copy, "memory")


async def test_what_was_made_before_1970_is_listed_page_by_page(brain: Brain) -> None:
    times = [{"created_at": at, "occurred_at": at} for at in ("0001-01-02T00:00:00Z", "1969-01-01T00:00:00Z")]
    lines = [
        memory_line(f"{number} {at['created_at']}", type="context", memory_scope="agent", agent_id="ada", **at)
        for at in times
        for number in range(2)
    ]
    async with http(brain.app(), await admin(brain)) as client:
        assert (await take_in(client, as_file([HEADER, *lines])))["created"] == 4
        for path, header in (("/v1/brain/list", ""), ("/v1/brain/review", ""), ("/v1/thoughts", "x-next-cursor")):
            found, cursor = list[str](), None
            while cursor is not None or not found:
                page = await client.get(path, params={"limit": 1, **({"cursor": cursor} if cursor else {})})
                assert page.status_code == 200, page.text
                found += [each["id"] for each in (page.json() if header else page.json()["memories"])]
                cursor = page.headers.get(header) if header else page.json()["next_cursor"]
            assert sorted(found) == sorted(line["id"] for line in lines), path
