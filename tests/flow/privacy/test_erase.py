"""An erased memory leaves nothing: every table, stream, log and file of a running system is searched for its words."""

import asyncio
import io
from contextlib import redirect_stderr
from itertools import chain, cycle
from typing import Any

import orjson
import pytest

from openbrain.domain.events.envelope import FIELD
from openbrain.domain.events.streams import SUBMITTED, dead_letters, replays
from openbrain.ports.store.operations import OperationStatus
from openbrain.streams.redis.connection import ask
from openbrain.streams.redis.entry_ids import LAST
from tests.flow.conftest import Brain
from tests.support.processes.searching import in_files, in_streams, in_tables
from tests.support.streams.fuzz import STRANGE
from tests.support.waiting import until

MARK = "Xyzzyqwertzuiop"
"""A word that occurs nowhere else; lower case, and unchanged by stemming."""
CONTENT = f"The {MARK} lock of the depot opens with {MARK}-4711."


async def operation(brain: Brain, operation_id: str) -> dict[str, Any]:
    """The operation, once it has ended."""

    async def ended() -> bool:
        found = (await brain.http.get(f"/v1/admin/operations/{operation_id}", params={"wait": 5})).json()
        return OperationStatus(found["status"]).ended

    await until(ended)
    found: dict[str, Any] = (await brain.http.get(f"/v1/admin/operations/{operation_id}")).json()
    assert found["status"] == "done", found
    return found


async def erase(brain: Brain, memory_id: str) -> dict[str, Any]:
    answer = await brain.http.request("DELETE", f"/v1/brain/memories/{memory_id}", params={"erase": 1})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def everywhere(brain: Brain, word: str) -> list[str]:
    folder = brain.container.settings.data_dir
    files = await asyncio.to_thread(in_files, folder, word)
    return [*await in_tables(brain.container.store, word), *await in_streams(brain.redis, word), *files]


async def found_nowhere(brain: Brain, told: object) -> None:
    async def nowhere() -> bool:
        return await everywhere(brain, MARK) == []  # a server removes a file a moment after its last use

    try:
        await until(nowhere, pause=0.2)
    except TimeoutError:
        pytest.fail(f"still found in {await everywhere(brain, MARK)}: {told}")


async def filled(brain: Brain) -> None:
    """Store neighbours, so that pages, blocks and segments hold more than the one memory."""
    texts = (f"Neighbour {number} of the depot keeps {number * 7} keys." for number in range(30))
    offered = [{"content": text, "type": "fact", "tags": [f"n{number}"]} for number, text in enumerate(texts)]
    for some in (offered[:10], offered[10:20], offered[20:]):
        await brain.post("/v1/brain/remember:batch", {"memories": some})


async def dead_letter(brain: Brain, content: str) -> None:
    """Publish the same content again, in an event that nobody can process."""
    data = {"workspace_id": "default", "content": content, "type": "no type of ours"}
    body = {"specversion": "1.0", "id": "bad", "source": "/s", "type": SUBMITTED.type, "data": data}
    await brain.redis.xadd(SUBMITTED.name, {FIELD: orjson.dumps(body)})

    async def buried() -> bool:
        return bool(await brain.redis.xlen(dead_letters(SUBMITTED.name, "ingest")))

    await until(buried)


@pytest.fixture
async def told(brain: Brain) -> Brain:
    """A system in which the word has been everywhere: submitted, refused, stored, changed, queried, superseded."""
    await brain.redis.config_set("rdbcompression", "no")  # so that its files can be searched
    await filled(brain)
    await brain.submit("e-1", content=CONTENT, tags=[MARK], metadata={"kept": MARK}, source=MARK, speaker=MARK)

    async def stored() -> bool:
        return len(await brain.listed(limit=100)) == 31

    await until(stored)
    await dead_letter(brain, CONTENT)
    await brain.settled()
    return brain


async def the_one(brain: Brain) -> str:
    (memory_id,) = await brain.listed(tags=MARK)
    return memory_id


async def test_nothing_is_found_of_what_was_erased(told: Brain, capsys: pytest.CaptureFixture[str]) -> None:
    memory_id = await the_one(told)
    assert memory_id in await told.recalled(MARK)
    changed = await told.http.patch(f"/v1/brain/memories/{memory_id}", json={"content": f"{CONTENT} Twice {MARK}."})
    assert changed.status_code == 200, changed.text
    await told.indexed(memory_id)
    before = await everywhere(told, MARK)
    assert {"memories", "memory_history", SUBMITTED.name, dead_letters(SUBMITTED.name, "ingest")} <= set(before)
    assert any(name.startswith("truth.sqlite3") for name in before)
    assert any(name.startswith("streams/") for name in before)

    err = io.StringIO()
    with redirect_stderr(err):
        answer = await erase(told, memory_id)
        done = await operation(told, answer["operation_id"])

    await found_nowhere(told, done)
    printed = capsys.readouterr()
    assert MARK not in printed.out + printed.err + err.getvalue()
    assert MARK not in str(done) + str(answer)
    assert done["result"]["streams"]["deleted"] == {
        SUBMITTED.name: 2,
        dead_letters(SUBMITTED.name, "ingest"): 1,
    }
    assert done["request"] == {"ids": [memory_id]}
    assert memory_id not in await told.recalled(MARK)
    assert len(await told.listed(limit=100)) == 30
    shown = await told.memory(memory_id, history=1)
    assert (shown["content"], shown["reason"], shown["state"]) == ("", "erased", "deleted")
    assert [line["action"] for line in shown["history"]] == ["created", "updated", "erased"]
    assert {line["before"] is None and line["after"] is None for line in shown["history"][:2]} == {True}
    assert await erase(told, memory_id) == answer


async def test_the_neighbours_are_still_found_by_both_indexes(brain: Brain) -> None:
    # In one transaction, so that one segment holds it and its neighbours: a segment with nothing else would simply be
    # deleted.
    contents = [f"Neighbour {number} of the depot keeps {number * 7} keys." for number in range(30)]
    offered = [{"content": each, "type": "fact"} for each in [*contents[:15], CONTENT, *contents[15:]]]
    stored = await brain.post("/v1/brain/remember:batch", {"memories": offered})
    await brain.settled()

    done = await operation(brain, (await erase(brain, stored["results"][15]["id"]))["operation_id"])

    assert done["result"]["text"]["written_again"] > 0
    for weight in (0.0, 1.0):
        answer = await brain.post("/v1/brain/recall", {"query": "Neighbour of the depot", "text_weight": weight})
        assert answer["count"] == 10
    again = await brain.post("/v1/brain/remember", {"content": "Stored after.", "type": "fact"}, 201)
    await brain.indexed(again["id"])


async def strange_entries(brain: Brain, *streams: str) -> None:
    """Add strange entries to the live, replayed and dead entries of these streams, up to the highest possible id.

    Each kind goes to one live stream and one dead-letter stream; the streams' own tests show that none stops a sweep of
    any.
    """
    live = [place for name in streams for place in (name, replays(name, "ingest"))]
    for places in (live, [dead_letters(name, "ingest") for name in streams]):
        for place, fields in zip(cycle(places), STRANGE.values(), strict=False):
            await ask(brain.redis, "XADD", place, "*", *chain.from_iterable(fields))
        for place in places:
            await brain.redis.xadd(place, {FIELD: b"{}"}, id=LAST)
        await brain.settled()  # unreadable entries must be dead letters before those streams are full


async def test_strange_entries_keep_no_erasure_from_its_end(told: Brain) -> None:
    memory_id = await the_one(told)
    await strange_entries(told, SUBMITTED.name, f"{SUBMITTED.name}.bound")
    before = await everywhere(told, MARK)
    assert {SUBMITTED.name, dead_letters(SUBMITTED.name, "ingest")} <= set(before)

    done = await operation(told, (await erase(told, memory_id))["operation_id"])

    swept = done["result"]["streams"]
    assert (swept["deleted"], swept["unjudged"]) == ({SUBMITTED.name: 2, dead_letters(SUBMITTED.name, "ingest"): 1}, 0)
    await found_nowhere(told, done)


async def test_an_old_submission_that_comes_again_brings_nothing_back(told: Brain) -> None:
    memory_id = await the_one(told)
    await operation(told, (await erase(told, memory_id))["operation_id"])

    await told.submit("e-1", content=CONTENT)
    await told.settled()

    assert len(await told.listed(limit=100)) == 30
    assert memory_id not in await told.listed(limit=100)


async def test_an_erased_parent_is_in_no_child_and_an_erased_head_brings_no_parent_back(told: Brain) -> None:
    parent = await the_one(told)
    child = await told.remember("The lock of the depot was changed.", supersedes=parent)
    await told.indexed(child)

    await operation(told, (await erase(told, parent))["operation_id"])
    shown = await told.memory(child, history=1)
    assert MARK not in str(shown)
    assert shown["lineage"]["parents"] == [parent]
    await operation(told, (await erase(told, child))["operation_id"])

    assert not {parent, child} & set(await told.listed(limit=100))
    assert not {parent, child} & set(await told.recalled("lock of the depot"))


async def test_a_workspace_leaves_nothing_but_the_operation_that_ended_it(brain: Brain) -> None:
    """A workspace with keys, submissions both ways and dead letters is closed; its neighbours keep theirs."""
    await brain.redis.config_set("rdbcompression", "no")
    operator = (brain.container.settings.data_dir / "admin-key").read_text(encoding="utf-8").strip()
    brain.http.headers["authorization"], default = f"Bearer {operator}", brain.http.headers["authorization"]
    await brain.post("/v1/admin/workspaces", {"id": "bound"}, 201)
    theirs = {"name": MARK, "permissions": ["brain.read", "brain.write"], "workspace_id": "bound"}
    key = (await brain.post("/v1/admin/keys", theirs, 201))["key"]
    brain.http.headers["authorization"] = f"Bearer {key}"
    first = await brain.remember(f"{MARK} one.")
    await brain.remember(f"{MARK} two.", supersedes=first)
    brain.http.headers["authorization"] = default
    await filled(brain)
    await brain.submit("by-stream", content=f"{MARK} three.", workspace_id="bound")
    await brain.redis.xadd(f"{SUBMITTED.name}.bound", {FIELD: f"no event of {MARK}"})
    await brain.settled()
    await strange_entries(brain, SUBMITTED.name, f"{SUBMITTED.name}.bound")
    assert await everywhere(brain, MARK)

    brain.http.headers["authorization"] = f"Bearer {operator}"
    path = "/v1/admin/workspaces/bound"
    begun = await brain.http.delete(path, params={"confirm": "bound"})
    assert begun.status_code == 202, begun.text
    done = await operation(brain, begun.json()["operation"]["id"])
    await operation(brain, done["result"]["purge"])

    await found_nowhere(brain, done)
    assert await in_tables(brain.container.store, '"bound"') in ([], ["operations"])
    brain.http.headers["authorization"] = f"Bearer {key}"
    assert (await brain.http.get("/v1/brain/list")).status_code == 401
    brain.http.headers["authorization"] = default
    assert len(await brain.listed(limit=100)) == 30
    assert len(await brain.recalled("Neighbour of the depot", top_k=30)) == 30


async def test_all_that_match_are_erased_at_once(told: Brain) -> None:
    body = {"tags": [MARK], "dry_run": False, "erase": True}
    begun = await told.post("/v1/brain/forget", body, 202)
    ended = await operation(told, begun["operation"]["id"])
    purges = (await told.http.get("/v1/admin/operations", params={"kind": "purge"})).json()["operations"]
    for each in purges:
        await operation(told, each["id"])

    assert ended["result"] == {"erased": 1}

    await found_nowhere(told, purges)
