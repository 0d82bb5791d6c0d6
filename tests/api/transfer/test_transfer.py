"""Export and import over HTTP: what is exported is imported unchanged."""

import gzip
import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from openbrain.domain.memory import DAY
from tests.support.api.brain import Brain, http, refused, remembered, unknown_id
from tests.support.api.transfer import (
    NDJSON,
    Line,
    admin,
    as_file,
    brain_database_url,
    differences,
    export,
    forget_everything,
    keep_ids,
    lines_of,
    lived,
    of_kind,
    take_in,
    told,
)

__all__ = ["brain_database_url"]


async def test_a_workspace_moves_as_it_was(brain: Brain) -> None:
    """From one workspace into an empty one of the same server, and onwards: the exports stay the same."""
    keep_ids(brain)
    async with http(brain.app(), await admin(brain)) as source:
        await lived(brain, source)
        file = await export(source)
    await brain.store._database.write(forget_everything)
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


async def test_a_copy_beside_its_original_has_ids_of_its_own(brain: Brain) -> None:
    """Every id is taken by another workspace: the copy's chains stay consistent, and the answer is the same as for
    free ids."""
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


async def test_an_import_tells_nothing_of_the_ids_of_other_workspaces(brain: Brain) -> None:
    """The same file into two empty workspaces of a server: one of its ids exists elsewhere, or none does."""
    async with http(brain.app(), await admin(brain)) as holder:
        (taken,) = await remembered(holder, "stands here")
        file = await export(holder)
    file = as_file(lines_of(file)[:-1])
    told = []
    for number, body in enumerate((file, as_file(renamed(lines_of(file)[:-1], taken, unknown_id())))):
        async with http(brain.app(), await admin(brain, f"guest-{number}")) as guest:
            answers = [await take_in(guest, body, dry_run=dry) for dry in (True, False, False)]
            here = {each["id"] for each in of_kind(await export(guest), "memory")}
            told.append((answers, here.isdisjoint(each["id"] for each in of_kind(body, "memory"))))
    assert told[0] == told[1]
    assert told[0][1], "neither memory kept its id"


def renamed(lines: Sequence[Line], memory_id: str, other: str) -> list[Line]:
    return [json.loads(json.dumps(each).replace(memory_id, other)) for each in lines]


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
    """At any mark, the two parts together equal the whole export."""
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
    await brain.store._database.write(forget_everything)
    lines = file.splitlines(keepends=True)
    cut, in_a_line = b"".join(lines[:8]), b"".join(lines[:9])[:-20]
    missing, changed = b"".join([*lines[:3], *lines[4:]]), file.replace(b"edition 1", b"edition 7")
    async with http(brain.app(), await admin(brain)) as target:
        answers = [await take_in(target, body) for body in (cut, in_a_line, missing, changed, file)]
        copy = await export(target)

    assert [each["complete"] for each in answers] == [False, False, False, False, True]
    assert [each["refused"] for each in answers][:2] == [0, 1]
    assert "cut off" in answers[0]["incomplete"]
    assert "lines are missing" in answers[2]["incomplete"]
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
    """Also if the indexes still have a tombstone for it."""
    async with http(brain.app(), await admin(brain)) as source:
        (memory_id,) = await remembered(source, "the harbour freezes in winter")
        for number in range(3):
            await source.patch(f"/v1/brain/memories/{memory_id}", json={"metadata": {"n": number}})
        file = await export(source)
        await source.request("DELETE", f"/v1/brain/forget/{memory_id}")
        await brain.settle()
        await brain.store._database.write(forget_everything)
    async with http(brain.app(), await admin(brain)) as target:
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
        (begun,) = await brain.store.operations.operations("w2", 9)
        await brain.store.operations.cancel_operation("w2", begun.id)
        response = await target.post("/v1/brain/import", content=file, headers=NDJSON)
        await take_in(other, file)
    (ended,), (done,) = [await brain.store.operations.operations(name, 9) for name in ("w2", "w3")]

    assert (begun.kind, begun.status, begun.actor) == ("import", "running", "ada")
    assert "cancelled" in refused(response, 409)["message"]
    assert (ended.status, done.status) == ("cancelled", "done")


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


async def test_a_change_after_its_row_was_read_is_not_in_the_history_either(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with http(brain.app(), await admin(brain)) as client:
        changed, ended = await remembered(client, "the quay is open", "the gate is open")
        transfer: Any = type(brain.store.transfer)
        links = transfer.links

        async def changing(self: Any, ids: Sequence[str]) -> Any:
            await client.patch(f"/v1/brain/memories/{changed}", json={"content": "the quay is closed"})
            await client.delete(f"/v1/brain/forget/{ended}")
            return await links(self, ids)

        with monkeypatch.context() as patched:
            patched.setattr(transfer, "links", changing)
            lines = await export(client)
        after = await export(client)

    assert {each["content"] for each in of_kind(lines, "memory")} == {"the quay is open", "the gate is open"}
    assert [each["action"] for each in of_kind(lines, "history")] == ["created"] * 2
    assert sorted(each["action"] for each in of_kind(after, "history")) == [
        "created",
        "created",
        "forgotten",
        "updated",
    ]
