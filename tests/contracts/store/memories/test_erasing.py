"""Contract of `ports.writes`: which rows remain after an erasure, on every database."""

import json
from array import array
from typing import Any

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.schema.tables import embeddings, memory_passages, workspace_usage
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria, matches, visible
from openbrain.domain.access.visibility import everything as all_of
from openbrain.domain.errors import Conflict, NotFound, Outdated
from openbrain.domain.ids import content_hash, joined_hash, uuid7
from openbrain.domain.memory import Memory, Reason, Scope
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.index_entries import Embedded, Mark
from openbrain.ports.store.transfer import HistoryRow, Landed
from openbrain.ports.store.writes import PURGE, Bulk, Edit, Living, Status
from tests.support.store.direct_rows import put_into
from tests.support.store.fixtures import START, FakeClock, announced, origin, row, rows, stored, viewer, write

SECRET = "the vault opens at noon"
EVERYWHERE = {"tags": ("vault",), "metadata": {"a": "vault"}, "source": "vault", "speaker": "vault", "project": "vault"}


def living(**asked: Any) -> Bulk:
    criteria = Criteria(only_project=True, **asked)
    return Bulk(condition=visible(viewer(), criteria, START), made_by=START)


async def everything(database: Database) -> str:
    tables = ("memories", "memory_history", "memory_passages", "memory_usage", "outbox", "idempotency_keys")
    found = [await rows(database, f"SELECT * FROM {table}") for table in (*tables, "operations")]
    return repr(found)


async def test_the_row_stays_as_a_proof_and_says_nothing(store: SqlStore, database: Database, clock: FakeClock) -> None:
    memory = await stored(store.writes, SECRET, idempotency_key="k", **EVERYWHERE)
    await store.writes.update(Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), content=f"{SECRET} or so"))
    await store.writes.forget(memory.id, viewer(), origin(), "the vault moved")
    clock.advance(5)

    erased = await store.writes.erase(memory.id, viewer(), origin("bob"), "asked to")

    after = await row(database, memory.id)
    assert after == erased.memory
    assert (after.id, after.workspace_id, after.reason, after.content) == (memory.id, "w1", Reason.ERASED, "")
    assert (after.created_at, after.deleted_at, after.updated_at) == (START, START, clock.now())
    assert after.revision == 4
    assert "vault" not in await everything(database)
    told = (await announced(database))[-1]
    assert (told["stream"], told["reason"], told["revision"]) == ("memory.superseded", "erased", 4)
    lines = await store.memories.history(memory.id)
    assert [(line.action, line.before, line.after, line.reason) for line in lines] == [
        ("created", None, None, ""),
        ("updated", None, None, ""),
        ("forgotten", None, None, ""),
        ("erased", None, {"reason": "erased"}, "asked to"),
    ]


async def test_an_import_brings_no_history_of_what_was_erased_meanwhile(store: SqlStore, database: Database) -> None:
    memory = await stored(store.writes, SECRET)
    await store.writes.erase(memory.id, viewer(), origin(), "")
    before = await store.memories.history(memory.id)
    line = HistoryRow(
        memory_id=memory.id,
        version=9,
        revision=9,
        action="updated",
        actor="ada",
        at=START,
        before=json.dumps({"content": SECRET}),
        after=None,
        note="about the vault",
    )

    assert await store.transfer.load("w1", [line]) == [Landed.PRESENT]

    assert await store.memories.history(memory.id) == before
    assert "vault" not in await everything(database)


async def test_what_must_still_be_purged_is_queued_with_it(store: SqlStore, database: Database) -> None:
    memory = await stored(store.writes, SECRET)
    await store.writes.update(Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), content="another"))
    passage = {"memory_id": memory.id, "model": "m", "passage": 0, "revision": 2, "input_hash": "i" * 64}
    await put_into(database, memory_passages, passage)

    operation = (await store.writes.erase(memory.id, viewer(), origin(), "")).operation

    assert operation is not None
    assert (operation.kind, operation.workspace_id, operation.actor) == (PURGE, "w1", "ada")
    contents = sorted({content_hash(SECRET), content_hash("another")})
    assert operation.request == {"ids": [memory.id], "traces": {"contents": contents, "inputs": ["i" * 64]}}
    assert await rows(database, "SELECT * FROM memory_passages") == []


async def test_vectors_of_earlier_revisions_go_too(store: SqlStore, database: Database) -> None:
    first = await stored(store.writes, SECRET)
    before, kept, after = (name * 64 for name in "abc")
    vector = array("f", [1, 0])

    async def embedded(row: Memory, *inputs: str) -> None:
        of = Embedded(memory_id=row.id, workspace_id="w1", revision=row.revision, input_hashes=inputs)
        await store.vectors.save(dict.fromkeys(inputs, vector), [of], "m")

    await embedded(first, before, kept)
    edit = Edit(memory_id=first.id, viewer=viewer(), origin=origin(), content="another")
    second = await store.writes.update(edit)
    for _ in range(2):
        await embedded(second, after, kept)
    assert await rows(database, "SELECT input_hash FROM former_inputs") == [{"input_hash": before}]

    operation = (await store.writes.erase(first.id, viewer(), origin(), "")).operation

    assert operation is not None
    inputs = operation.request["traces"]["inputs"]
    assert inputs == sorted([before, kept, after])
    assert await store.vectors.drop_embeddings(inputs) == 3
    assert await rows(database, "SELECT * FROM former_inputs") == []


async def test_again_the_answer_is_the_same(store: SqlStore, database: Database, clock: FakeClock) -> None:
    memory = await stored(store.writes, SECRET)

    first = await store.writes.erase(memory.id, viewer(), origin(), "once")
    events = await announced(database)
    clock.advance(1000)
    again = await store.writes.erase(memory.id, viewer(), origin("bob"), "twice")

    assert again == first
    assert await announced(database) == events
    assert await store.writes.forget(memory.id, viewer(), origin(), "") == first.memory
    with pytest.raises(Conflict, match="erased"):
        await store.writes.restore(memory.id, viewer(), origin(), "")
    with pytest.raises(NotFound):
        await store.writes.update(Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), content="back"))


@pytest.mark.parametrize("eyes", [viewer("w2"), viewer(agent="bob"), viewer(agent="")])
async def test_a_foreign_memory_is_unknown(store: SqlStore, eyes: Any) -> None:
    memory = await stored(store.writes, SECRET, memory_scope=Scope.AGENT)

    for memory_id in (memory.id, uuid7(START)):
        with pytest.raises(NotFound, match="no memory with this id"):
            await store.writes.erase(memory_id, eyes, origin(), "")

    assert (await store.memories.rows([memory.id]))[memory.id].content == SECRET


async def test_another_edition_than_was_seen_is_not_erased(store: SqlStore) -> None:
    memory = await stored(store.writes, SECRET)

    with pytest.raises(Outdated):
        await store.writes.erase(memory.id, viewer(), origin(), "", frozenset({"another"}))

    assert (
        await store.writes.erase(memory.id, viewer(), origin(), "", frozenset({memory.edition}))
    ).memory.content == ""


async def test_what_has_expired_or_was_superseded_can_be_erased(store: SqlStore, clock: FakeClock) -> None:
    due = await stored(store.writes, "due", expires_at=START + 5)
    old = await stored(store.writes, SECRET)
    (new,) = await store.writes.remember([write("the vault is gone", supersedes_id=old.id)])
    assert new.memory is not None
    clock.advance(10)

    for each in (due, old):
        assert (await store.writes.erase(each.id, viewer(), origin(), "")).memory.reason is Reason.ERASED

    assert (await store.memories.ancestry(new.memory.id, 5)).parents == (old.id,)
    (late,) = await store.writes.remember([write("yet another", supersedes_id=old.id)])
    assert late.status is Status.REFUSED
    assert isinstance(late.error, Conflict)
    assert late.error.head == new.memory.id
    await store.writes.erase(new.memory.id, viewer(), origin(), "")
    assert (await store.writes.measure_living(living().condition)).rows == 0


async def test_the_same_key_again_is_the_same_memory_and_the_same_content_a_new_one(store: SqlStore) -> None:
    memory = await stored(store.writes, SECRET, idempotency_key="k")
    await store.writes.erase(memory.id, viewer(), origin(), "")

    keys = await store.writes.blank_keys("w1", [memory.id])
    (again,) = await store.writes.remember([write(SECRET, idempotency_key="k")])
    (new,) = await store.writes.remember([write(SECRET)])

    assert keys == [joined_hash("w1", "k")]
    assert await store.writes.blank_keys("w2", [memory.id]) == []
    assert again.status is Status.DUPLICATE
    assert again.memory is not None
    assert (again.memory.id, again.memory.content) == (memory.id, "")
    assert new.status is Status.CREATED


async def test_a_vector_goes_when_no_passage_uses_it(store: SqlStore, database: Database) -> None:
    mine, theirs = await stored(store.writes, SECRET), await stored(store.writes, "another")
    hashes = {name: name * 64 for name in "abc"}
    vector = {"model": "m", "vector": b"\0" * 8, "created_at": START}
    await put_into(database, embeddings, *({**vector, "input_hash": each} for each in hashes.values()))
    passage = {"model": "m", "revision": 1, "passage": 0}
    await put_into(
        database,
        memory_passages,
        {**passage, "memory_id": mine.id, "input_hash": hashes["a"]},
        {**passage, "memory_id": mine.id, "passage": 1, "input_hash": hashes["b"]},
        {**passage, "memory_id": theirs.id, "input_hash": hashes["b"]},
    )
    await store.writes.erase(mine.id, viewer(), origin(), "")

    dropped = await store.vectors.drop_embeddings([hashes["a"], hashes["b"], "unknown"])

    left = await rows(database, "SELECT input_hash FROM embeddings ORDER BY input_hash")
    assert dropped == 1
    assert [each["input_hash"] for each in left] == [hashes["b"], hashes["c"]]
    assert await store.vectors.drop_embeddings([hashes["a"]]) == 0


async def test_it_is_told_when_both_indexes_have_let_go(store: SqlStore) -> None:
    memory = await stored(store.writes, SECRET)
    revision = (await store.writes.erase(memory.id, viewer(), origin(), "")).memory.revision

    assert not await store.index_marks.tombstoned([memory.id])
    await store.index_marks.mark(IndexKind.TEXT, [Mark(memory.id, revision)])
    assert not await store.index_marks.tombstoned([memory.id])
    await store.index_marks.mark(IndexKind.VECTOR, [Mark(memory.id, revision)])
    assert await store.index_marks.tombstoned([memory.id, uuid7(START)])
    assert await store.index_marks.tombstoned([])


async def filed(store: SqlStore) -> dict[str, Memory]:
    contents = {"a1": "p", "a2": "p", "b1": "q"}
    made = {name: await stored(store.writes, name, project=project) for name, project in contents.items()}
    made["bob's own"] = await stored(store.writes, "own", project="p", agent_id="bob", memory_scope=Scope.AGENT)
    made["theirs"] = await stored(store.writes, "theirs", project="p", workspace_id="w2", viewer=viewer("w2"))
    return made


@pytest.mark.parametrize("erase", [False, True])
async def test_all_that_match_end_a_few_at_a_time(store: SqlStore, database: Database, erase: bool) -> None:
    made = await filed(store)
    late = await stored(store.writes, "later", project="p", now=START + 1)
    bulk = living(project="p")
    assert await store.writes.measure_living(bulk.condition) == Living(3, START + 1)
    assert set(await store.writes.sample_living(bulk, 9)) == {made["a1"].id, made["a2"].id}

    ended = [await store.writes.end_living(bulk, 1, origin(), "tidy", erase=erase) for _ in range(3)]

    assert [each.rows for each in ended] == [1, 1, 0]
    assert [each.reached for each in ended] == [made["a2"].created_at, made["a1"].created_at, None]
    reasons = {name: (await row(database, each.id)).reason for name, each in made.items()}
    gone = Reason.ERASED if erase else Reason.FORGOTTEN
    assert reasons == {"a1": gone, "a2": gone, "b1": None, "bob's own": None, "theirs": None}
    assert (await row(database, late.id)).alive(START)
    queued = await store.operations.operations("w1", 9, kinds=[PURGE])
    assert sorted(each.request["ids"][0] for each in queued) == (
        sorted([made["a1"].id, made["a2"].id]) if erase else []
    )


async def test_the_files_are_scrubbed(store: SqlStore) -> None:
    await stored(store.writes, SECRET)

    told = await store.scrub()

    assert told["product"] in ("SQLite", "MariaDB")
    if told["product"] == "MariaDB":
        settings: Any = told["settings"]
        assert set(settings) == {
            "log_bin",
            "binlog_expire_logs_seconds",
            "innodb_immediate_scrub_data_uncompressed",
        }


async def test_what_is_erased_makes_room_in_the_quota_once(store: SqlStore, database: Database) -> None:
    usage = {"workspace_id": "w1", "memories": 2, "bytes": 100, "counted_at": START}
    living_one, ended = await stored(store.writes, "12345"), await stored(store.writes, "another")
    await store.writes.forget(ended.id, viewer(), origin(), "")
    await put_into(database, workspace_usage, usage)

    for _ in range(2):
        for memory in (living_one, ended):
            await store.writes.erase(memory.id, viewer(), origin(), "")

    (left,) = await rows(database, "SELECT memories, bytes FROM workspace_usage")
    assert left == {"memories": 1, "bytes": 95}


async def test_one_subject_is_found_in_every_text_and_state_and_erased_whole(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    """By the name in any case, also beyond ASCII, in quotes, in past versions and in ended memories."""
    name = 'Änne "Ä" O\\N'
    own: list[dict[str, Any]] = [
        {"content": f"ask {name}"},
        {"content": "a", "metadata": {"of": [{name: 1}]}},
        {"content": "b", "tags": (name,)},
        {"content": "c", "speaker": name.upper()},
        {"content": "d", "memory_scope": Scope.AGENT, "agent_id": "bob", "title": name.lower()},
    ]
    found = [await stored(store.writes, **each) for each in own]
    past = await stored(store.writes, f"was {name}")
    await store.writes.update(Edit(memory_id=past.id, viewer=viewer(), origin=origin(), content="is nobody"))
    ended = await stored(store.writes, f"gone {name}")
    await store.writes.forget(ended.id, viewer(), origin(), "")
    others = [await stored(store.writes, "ask Anne"), await stored(store.writes, "ask nobody", tags=("%_",))]
    (foreign,) = await store.writes.remember([write(f"theirs {name}", workspace_id="w2", viewer=viewer("w2"))])
    assert foreign.memory is not None
    condition = all_of("w1", Criteria(says=name.swapcase()))
    subject = Bulk(condition=condition, made_by=clock.now(), ended=True)
    ids = {each.id for each in (*found, past, ended)}

    assert {each.id for each in (*found, *others) if matches(condition, each)} == {each.id for each in found}
    assert (await store.writes.measure_living(condition, ended=True)).rows == len(ids)
    assert (await store.writes.measure_living(condition)).rows == len(ids) - 1
    assert set(await store.writes.sample_living(subject, 20)) == ids
    spoken = all_of("w1", Criteria(speakers=(name.upper(),)))
    assert (await store.writes.measure_living(spoken)).rows == 1
    assert (await store.writes.measure_living(all_of("w1", Criteria(says="%_")))).rows == 1

    done = await store.writes.end_living(subject, 20, origin(), "asked to", erase=True)
    again = await store.writes.end_living(subject, 20, origin(), "asked to", erase=True)

    assert (done.rows, again.rows) == (len(ids), 0)
    assert {(await row(database, each)).reason for each in ids} == {Reason.ERASED}
    assert not (await row(database, foreign.memory.id)).ended
    assert [(await row(database, each.id)).ended for each in others] == [False, False]
