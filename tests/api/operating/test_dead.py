"""Dead letters and burials through the API, with the housekeeper doing the work, on every stream server."""

import pytest

from openbrain.domain.events.streams import STORED, SUBMITTED, replays
from openbrain.domain.memory import State
from openbrain.ports.store.generations import IndexKind
from tests.support.api.brain import http, refused, remembered
from tests.support.streams.consumers import memory_id, stored
from tests.support.streams.operator import WORDS, Operator, submission


async def test_a_dead_letter_given_again_is_no_failure_of_its_memory(operator: Operator) -> None:
    app = operator.brain.app()
    async with http(app, await operator.brain.key()) as ada:
        failed, other = await remembered(ada, "cannot be indexed", "neither can this")
    store = operator.brain.store
    for each in (failed, other):
        await store.index_marks.record_failure(IndexKind.TEXT, each, "Refused: no")
    letter = await operator.die(stored(1).replace(memory_id(1).encode(), failed.encode()), "indexer-text")
    await operator.die(stored(2).replace(memory_id(2).encode(), other.encode()), "indexer-text", error="Odd")

    looked = await operator.post("dead:replay", group="indexer-text", error="Refused")
    assert (looked["dry_run"], looked["count"], looked["sample"], looked["operation"]) == (True, 1, [letter], None)
    begun = await operator.post("dead:replay", group="indexer-text", error="Refused", dry_run=False)
    ended = await operator.work(begun["operation"]["id"])
    rows = await store.memories.rows([failed, other])

    assert (ended["status"], ended["done"], ended["result"]) == ("done", 1, {"delivered": 1})
    assert [rows[each].state(operator.brain.clock.now()) for each in (failed, other)] == [State.CREATED, State.FAILED]
    assert await operator.redis.xlen(replays(operator.stream, "indexer-text")) == 1
    refused(await operator.client.get(f"/v1/admin/dead/{letter}"), 404)


async def test_what_dies_again_meanwhile_is_left_for_the_next_time(operator: Operator) -> None:
    """Otherwise a replay of undeliverable entries would never end."""
    for number in range(150):
        await operator.die(stored(number))
    begun = await operator.post("dead:replay", all=True, dry_run=False)
    worker = operator.worker()
    await worker.round()
    for number in range(150):
        await operator.die(stored(number))
    ended = await operator.work(begun["operation"]["id"])

    assert (ended["done"], ended["result"]) == (150, {"delivered": 150})
    assert (await operator.post("dead:discard", all=True))["count"] == 150


async def test_letters_are_listed_without_what_they_hold_and_discarded(
    operator: Operator, capsys: pytest.CaptureFixture[str]
) -> None:
    letter = await operator.die(submission(), "ingest", SUBMITTED.name)
    others = [await operator.die(b"x") for _ in range(3)]
    listed = await operator.client.get("/v1/admin/dead", params={"limit": 2})
    rest = await operator.client.get("/v1/admin/dead", params={"cursor": listed.json()["next_cursor"]})
    plain = await operator.client.get(f"/v1/admin/dead/{letter}")
    whole = await operator.client.get(f"/v1/admin/dead/{letter}", params={"body": "1"})

    found = [each["id"] for page in (listed, rest) for each in page.json()["dead_letters"]]
    assert sorted(found) == sorted([letter, *others])
    assert all(WORDS not in each.text for each in (listed, rest, plain))
    assert WORDS in whole.json()["fields"]["__data__"]

    unknown = "memory.stored.embedder.1-0"
    begun = await operator.post("dead:discard", letters=[letter, others[0], unknown], dry_run=False, reason="a typo")
    ended = await operator.work(begun["operation"]["id"])
    assert (begun["count"], ended["result"]) == (2, {"discarded": 2})
    assert (await operator.client.get("/v1/admin/dead")).json()["count"] == 2
    for name in (unknown, "no-id", "memory.unknown.nobody.1-0"):
        refused(await operator.client.get(f"/v1/admin/dead/{name}"), 404)
    printed = capsys.readouterr()
    assert WORDS not in printed.out + printed.err


async def test_a_burial_says_who_and_why_and_fails_the_row(operator: Operator) -> None:
    async with http(operator.brain.app(), await operator.brain.key()) as ada:
        (memory,) = await remembered(ada, "it hangs")
    body = stored(1).replace(memory_id(1).encode(), memory.encode())
    entry = (await operator.redis.xadd(operator.stream, {"__data__": body})).decode()
    await operator.redis.xgroup_create(operator.stream, "embedder", "0")
    asked = {"stream": STORED.name, "group": "embedder", "entry": entry, "reason": "the model hangs on it"}
    early = await operator.post("streams:bury", **asked)
    failed = await operator.work(early["operation"]["id"])
    assert (failed["status"], "does not hold" in failed["error"]) == ("failed", True)

    await operator.redis.xreadgroup("embedder", "stuck", {operator.stream: ">"})
    begun = await operator.post("streams:bury", **asked)
    ended = await operator.work(begun["operation"]["id"])
    (letter,) = (await operator.client.get("/v1/admin/dead")).json()["dead_letters"]
    row = (await operator.brain.store.memories.rows([memory]))[memory]
    assert (ended["status"], ended["result"]) == ("done", {"became": "buried"})
    assert (letter["error"], letter["message"]) == ("Buried", "ada: the model hangs on it")
    assert row.vector_error == "Buried: ada: the model hangs on it"
