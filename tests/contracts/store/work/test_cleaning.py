"""Contract of `ports.cleaning`, on every database."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import insert, update

from openbrain.adapters.personal_data.detection import PersonalDataDetector
from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.schema.lifecycle_tables import lifecycle_policies
from openbrain.adapters.sql.schema.signal_tables import signals
from openbrain.adapters.sql.schema.tables import recalls
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.sql.tenants.other_texts import PAGE
from openbrain.domain.access.visibility import Criteria, everything
from openbrain.domain.signals.values import Step
from openbrain.domain.text.spelling import one_spelling
from openbrain.ports.agents import Message
from openbrain.ports.cleaning import ERASED, Cleaned, MemoryTexts, Party
from openbrain.ports.content import Action
from openbrain.ports.lifecycle import CLEAN
from openbrain.ports.store.memories import RecallRecord
from openbrain.ports.store.operations import TRACES, Progress
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.writes import FORGET
from openbrain.usecases import stored_criteria
from openbrain.usecases.content.cleaning import Cleaner, Normalising, Stripping
from openbrain.usecases.content.policy import stripping
from openbrain_housekeeper.handlers.forget import Forgetting
from tests.contracts.store.work.test_lifecycle import running, selected
from tests.support.signals.raising import change, signal_of, workspace
from tests.support.store.fixtures import FakeClock, announced, origin, row, rows, stored, viewer, write

DETECTOR = PersonalDataDetector()
STRIPPING = Stripping(DETECTOR, stripping(DETECTOR, Action.MASK))
CLEANER = Cleaner((STRIPPING,))
MAIL, MASK = "anna@example.com", "[redacted: email]"


async def test_rows_history_and_traces_are_cleaned_and_nothing_else(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    one = await stored(store.writes, f"ask {MAIL}", metadata={MAIL: 1}, source=MAIL)
    gone = await stored(store.writes, f"was {MAIL}")
    await store.writes.forget(gone.id, viewer(), origin(), f"asked by {MAIL}")
    plain = await stored(store.writes, "ask nobody")
    (foreign,) = await store.writes.remember(
        [write(f"theirs {MAIL}", workspace_id="w2", viewer=viewer("w2"), id="0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")]
    )
    assert foreign.memory is not None
    operation, selection = await running(store, clock, CLEAN), selected(clock)
    page = await store.cleansing.texts(selection, 9, None)
    ids = [each.memory.id for each in page]
    dead_revision = (await row(database, gone.id)).revision

    assert await store.cleansing.clean(operation, selection, [*ids, foreign.memory.id], CLEANER) == 2
    assert await store.cleansing.clean(operation, selection, ids, CLEANER) == 0

    assert {one.id, gone.id, plain.id} == {*ids}
    now, dead = await row(database, one.id), await row(database, gone.id)
    assert (now.content, now.metadata, now.source) == (f"ask {MASK}", {MASK: 1}, MASK)
    assert (now.version, now.revision) == (2, one.revision + 1)
    assert (dead.content, dead.reason, dead.revision) == (f"was {MASK}", "forgotten", dead_revision)
    assert await row(database, plain.id) == plain
    assert (await row(database, foreign.memory.id)).content == f"theirs {MAIL}"
    history = str(await rows(database, "SELECT * FROM memory_history WHERE workspace_id = 'w1'"))
    assert (MAIL in history, history.count(MASK)) == (False, 5)
    line = (await store.memories.history(one.id))[-1]
    assert (line.action, line.reason) == (
        "cleaned",
        f"clean {operation.id}: 1 email in content, 3 email in history, 1 email in metadata, 1 email in source",
    )
    events = [event for event in await announced(database) if event.get("causationid") == operation.id]
    assert [(event["stream"], event["change"]) for event in events] == [("memory.stored", "content")]
    (purge,) = await store.operations.operations("w1", 9, kinds=["purge"])
    assert purge.request["ids"] == sorted([one.id, gone.id])
    assert len(purge.request[TRACES]["contents"]) == 2


async def test_what_becomes_the_same_stays_two_and_a_hold_or_an_end_stops_it(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    one, two = await stored(store.writes, f"ask {MAIL}"), await stored(store.writes, "ask bob@example.org")
    held = await stored(store.writes, f"held {MAIL}", tags=("case-7",))
    hold = {"workspace_id": "w1", "document": "{}", "holds": '[{"tags": ["case-7"]}]', "actor": "ada", "updated_at": 1}
    await database.write(lambda connection: connection.execute(insert(lifecycle_policies), hold))
    ended, selection = await running(store, clock, CLEAN), selected(clock)
    await store.operations.cancel_operation("w1", ended.id)
    ids = [one.id, two.id, held.id]

    assert await store.cleansing.clean(ended, selection, ids, CLEANER) == 0
    operation = await running(store, clock, CLEAN)
    assert await store.cleansing.clean(operation, selection, ids, CLEANER) == 2

    texts = [(await row(database, each)).content for each in ids]
    assert texts == [f"ask {MASK}", f"ask {MASK}", f"held {MAIL}"]
    for limit in (1, 9):
        found, place = set[str](), None
        while page := await store.cleansing.texts(selection, limit, place):
            found |= {each.memory.id for each in page}
            place = (page[-1].memory.created_at, page[-1].memory.id)
        assert found == {one.id, two.id}
    assert await store.cleansing.found(operation.id) == {"content: email": 2, "history: email": 2}
    keys = await rows(database, "SELECT COUNT(dedupe_key) AS keyed FROM memories")
    assert keys == [{"keyed": 2}]


async def test_names_are_spelled_as_most_spell_them(store: SqlStore, database: Database, clock: FakeClock) -> None:
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=1, max_bytes=1000))
    odd = await stored(store.writes, "odd  \nlines", tags=("K8s", "k8s", "x"), project="Shop_Api")
    for number in range(2):
        await stored(store.writes, f"usual {number}", tags=("k8s",), project="shop-api")
    tags, projects = await store.cleansing.spellings("w1")
    cleaner = Cleaner((), Normalising(one_spelling(tags), one_spelling(projects)))
    operation, selection = await running(store, clock, CLEAN), selected(clock)

    assert await store.cleansing.clean(operation, selection, [odd.id], cleaner) == 1

    now = await row(database, odd.id)
    assert (now.content, now.tags, now.project) == ("odd\nlines", ("k8s", "x"), "shop-api")
    assert (await store.workspaces.usage(["w1"]))["w1"].bytes == len("odd\nlines") + 2 * len("usual 0")


async def test_a_killed_run_is_gone_on_with(store: SqlStore, database: Database, clock: FakeClock) -> None:
    """Each transaction is complete: what a killed worker had cleaned, the next one finds clean."""
    ids = [(await stored(store.writes, f"{number} {MAIL}")).id for number in range(3)]
    operation, selection = await running(store, clock, CLEAN), selected(clock)
    seen = Counter[str]()

    def dies(said: MemoryTexts) -> Cleaned | None:
        if said.memory.id == ids[2]:
            raise RuntimeError("killed")
        return CLEANER(said)

    with pytest.raises(RuntimeError, match="killed"):
        await store.cleansing.clean(operation, selection, ids, dies)
    assert [MAIL in (await row(database, each)).content for each in ids] == [True] * 3
    assert await store.cleansing.clean(operation, selection, ids[:1], CLEANER) == 1
    assert await store.cleansing.clean(operation, selection, ids, CLEANER) == 2
    seen.update([(await row(database, each)).content for each in ids])
    assert seen == {f"{number} {MASK}": 1 for number in range(3)}


async def test_what_stands_beside_memories_is_cleaned_in_its_own_workspace(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    given = {"agent_id": "", "results": "[]", "took_ms": 1.0, "created_at": 1}
    workspaces = ("w1", "w1", "w2")
    asked = [
        {"id": f"{number}", "workspace_id": workspace, "query": f"{number} {MAIL}", **given}
        for number, workspace in enumerate(workspaces)
    ]
    await database.write(lambda connection: connection.execute(insert(recalls), asked))
    operation = await running(store, clock, CLEAN)

    assert await store.cleansing.clean_others(operation, STRIPPING.text, dry_run=True) == 2
    assert await store.cleansing.clean_others(operation, STRIPPING.text, dry_run=False) == 2

    found = await rows(database, "SELECT query FROM recalls ORDER BY id")
    assert [each["query"] for each in found] == [f"0 {MASK}", f"1 {MASK}", f"2 {MAIL}"]


async def test_what_stands_beside_memories_of_one_party_is_counted_read_and_struck_out(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    given = {"workspace_id": "w1", "results": "[]", "took_ms": 1.0, "created_at": 1}
    asked = [{"id": f"{number:03}", "agent_id": "eve", "query": f"{number}", **given} for number in range(PAGE + 1)]
    asked += [{"id": f"bob{number}", "agent_id": "bob", "query": "of Eve", **given} for number in range(2)]
    asked.append({"id": "other", "agent_id": "eve", "query": "of eve", **given, "workspace_id": "w2"})
    await database.write(lambda connection: connection.execute(insert(recalls), asked))
    operation, eve, said = await running(store, clock, CLEAN), Party(agents=("eve",)), Party(says="EVE")

    async def read(party: Party) -> list[str]:
        found, (page, after) = list[str](), await store.cleansing.page_beside("w1", party, None)
        found += [row.data["id"] for row in page]
        while after is not None:
            page, after = await store.cleansing.page_beside("w1", party, after)
            found += [row.data["id"] for row in page]
        return found

    assert await read(eve) == [each["id"] for each in asked[: PAGE + 1]]
    assert await read(said) == ["bob0", "bob1"]
    assert await store.cleansing.count_beside("w1", eve) == PAGE + 1
    assert await store.cleansing.clean_others(operation, lambda _: ERASED, dry_run=False, party=eve) == PAGE + 1
    assert await store.cleansing.count_beside("w1", eve) == 0
    assert await store.cleansing.count_beside("w1", said) == 2
    assert await store.cleansing.count_beside("w2", eve) == 1


async def test_no_hash_of_a_struck_out_message_is_left_and_its_key_still_counts(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    sent = Message(id="m", workspace_id="w1", sender="eve", recipient="ada", content="4711", created_at=clock.now())
    await store.messages.send_message(sent, "key", 10)
    operation = await running(store, clock, CLEAN)

    await store.cleansing.clean_others(operation, lambda _: ERASED, dry_run=False, party=Party(says="4711"))

    (left,) = await rows(database, "SELECT content, content_hash FROM messages")
    assert (left["content"], left["content_hash"]) == (ERASED, "")
    again = await store.messages.send_message(replace(sent, id="n"), "key", 10)
    assert (again.duplicate, again.message.content) == (True, ERASED)


async def test_of_a_struck_out_signal_only_what_recognises_an_open_one_is_left(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    await workspace(store)
    ending = change(await signal_of(store, content="4711"), Step.RESOLVED)
    operation, said = await running(store, clock, CLEAN), Party(says="4711")

    for ended in (False, True):
        if ended:
            await store.signals.change_signal(ending)
            await database.write(lambda connection: connection.execute(update(signals).values(content="4711 again")))
        await store.cleansing.clean_others(operation, lambda _: ERASED, dry_run=False, party=said)
        (left,) = await rows(database, "SELECT content, content_hash, identity FROM signals")
        assert (left["content"], left["content_hash"], bool(left["identity"])) == (ERASED, "", not ended)


async def test_a_signal_that_was_struck_out_while_open_keeps_no_hash_when_it_ends(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    await workspace(store)
    struck, other = await signal_of(store, content="4711"), await signal_of(store, content="the disk is full")
    operation, said = await running(store, clock, CLEAN), Party(says="4711")
    await store.cleansing.clean_others(operation, lambda _: ERASED, dry_run=False, party=said)

    for each in (struck, other):
        await store.signals.change_signal(change(each, Step.RESOLVED))

    left = {line["id"]: line for line in await rows(database, "SELECT id, content_hash, identity FROM signals")}
    assert (left[struck.id]["content_hash"], left[struck.id]["identity"]) == ("", "")
    assert left[other.id]["identity"] == other.identity


@pytest.mark.parametrize("word", ["İbrahim", "ΣΟΦΟΣ", "GROẞ", "𐐀𐐁", "ᲐᲠᲐ"])
async def test_words_are_found_and_struck_out_in_any_case_of_any_script(
    store: SqlStore, clock: FakeClock, word: str
) -> None:
    """Spelled alike on every database, and in lower case where it knows the script."""
    texts = [word, *([word.lower()] if word[0] in "İΣ" else [])]
    said = Criteria(says=word)
    for number, text in enumerate(texts):
        await stored(store.writes, f"{number} {text} said", metadata={"by": text})
        asked: dict[str, Any] = {
            "agent_id": "ada",
            "query": f"{number} {text}?",
            "results": (),
            "took_ms": 1.0,
            "at": clock.now(),
        }
        await store.memories.record_recalls([RecallRecord(id=f"{number}", workspace_id="w1", **asked)])
    forgetting, progress = Forgetting(store, clock), Progress(done=0)
    request = {"made_by": clock.now(), "erase": True, "reason": "", **stored_criteria.kept(viewer(), said, whole=True)}
    operation = await running(store, clock, FORGET, **request)

    while not progress.finished:
        progress = await forgetting(replace(operation, done=progress.done, result=progress.result))

    assert progress.result == {"erased": len(texts), "beside": len(texts)}
    assert await store.cleansing.count_beside("w1", Party(says=word)) == 0
    assert (await store.writes.measure_living(everything("w1", said), ended=True)).rows == 0
