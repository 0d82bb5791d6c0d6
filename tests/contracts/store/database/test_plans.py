"""How the databases find rows among a hundred thousand: a bad plan gives right results, but a thousand times slower."""

import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, and_, event

from openbrain.adapters.sql.engine.database import SQLITE, Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.engine.statements import newer_than
from openbrain.adapters.sql.indexes import expected_entries, index_entries, index_marks, unused_vectors, vectors
from openbrain.adapters.sql.memories import reading, recalls, rows, session_turns
from openbrain.adapters.sql.memories.conditions import LIVING, compiled
from openbrain.adapters.sql.schema.memory_rows import INSERT_COLUMNS, row_from_memory
from openbrain.adapters.sql.schema.tables import BY_AGE, BY_PROJECT, CONVERSATION, SESSION_TURN, TURNS
from openbrain.adapters.sql.tenants import cleaning, closing, transferring
from openbrain.adapters.sql.tenants.lifecycle import partitions, subjects
from openbrain.adapters.sql.work import operations
from openbrain.adapters.sql.writes import erasing, idempotency
from openbrain.domain.access.visibility import Criteria, Viewer, everything, visible
from openbrain.domain.memory import MemoryType, Scope
from openbrain.ports.lifecycle import Partition, Selection
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.index_entries import Embedded, Extent
from openbrain.ports.store.writes import Bulk
from tests.support.store.fixtures import START, FakeClock, memory
from tests.support.store.mariadb import filled
from tests.support.waiting import PATIENCE_S

ROWS = 100_000

_DIGITS = " UNION ALL ".join(f"SELECT '{digit}' AS d" for digit in range(10))
_NUMBER = {"sqlite": "a.d || b.d || c.d || e.d || f.d", "mysql": "CONCAT(a.d, b.d, c.d, e.d, f.d)"}
_ID = {"sqlite": "'00000000-0000-7000-8000-0000000' || n", "mysql": "CONCAT('00000000-0000-7000-8000-0000000', n)"}
_SESSION = {"sqlite": "'session' || (n / 10)", "mysql": "CONCAT('session', n DIV 10)"}


def _id(number: int) -> str:
    return f"00000000-0000-7000-8000-0000000{number:05}"


IDS = [_id(number) for number in range(0, ROWS, ROWS // 400)]


def _fill(connection: Connection) -> None:
    """Insert the rows: one in eight is of another workspace; the rest are ordinary memories."""
    connection.exec_driver_sql(f"INSERT INTO workspaces (id, name, created_at) VALUES ('w1', 'w1', {START})")
    dialect = connection.dialect.name
    sample = dict(zip(INSERT_COLUMNS, row_from_memory(memory(tags=("a", "b")), None), strict=True))
    sample |= {"id": None, "workspace_id": None, "created_at": None, "session_id": None, "turn": None}
    columns = ", ".join(sample)
    values = {
        "id": _ID[dialect],
        "workspace_id": "CASE WHEN n % 8 = 0 THEN 'w2' ELSE 'w1' END",
        "created_at": f"{START} + n",
        # Many sessions: if a database counts one only, it estimates that any session matches half of all rows.
        "session_id": _SESSION[dialect],
        "turn": "n % 10",
    }
    slot = "?" if dialect == SQLITE else "%s"
    chosen = ", ".join(values.get(name, slot) for name in sample).replace(" % ", " % " if dialect == SQLITE else " %% ")
    numbers = f"SELECT {_NUMBER[dialect]} AS n FROM t a, t b, t c, t e, t f"
    given = tuple(value for name, value in sample.items() if name not in values)
    connection.exec_driver_sql(
        f"INSERT INTO memories ({columns}) WITH t AS ({_DIGITS}) SELECT {chosen} FROM ({numbers}) AS numbered", given
    )
    if dialect != SQLITE:
        # InnoDB updates its statistics in the background some seconds later: until then any session seems to match all
        # rows.
        connection.exec_driver_sql("ANALYZE TABLE memories")


@pytest.fixture(scope="module", params=["sqlite", "mariadb"])
def many_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with filled(request.param, request, tmp_path_factory.mktemp("many"), _fill) as url:
        yield url


@pytest.fixture
async def many(many_url: str) -> AsyncIterator[Database]:
    """A database with many rows; `plans` rolls back what it does."""
    opened = open_database(many_url, lock_wait_s=PATIENCE_S)
    yield opened
    await opened.close()


@contextmanager
def _heard(connection: Connection, said: list[tuple[str, Any]]) -> Iterator[None]:
    """Collect the statements that run meanwhile, and what is bound in them."""
    by_sqlalchemy = False

    def begins(*call: Any) -> None:
        nonlocal by_sqlalchemy
        by_sqlalchemy = True
        said.append((call[2], call[3]))

    def ends(*_: Any) -> None:
        nonlocal by_sqlalchemy
        by_sqlalchemy = False

    def traced(statement: str) -> None:
        """SQLite's own trace tells the others too, with the values filled in."""
        if not by_sqlalchemy:
            said.append((statement, ()))

    driver: Any = connection.connection.dbapi_connection
    event.listen(connection, "before_cursor_execute", begins)
    event.listen(connection, "after_cursor_execute", ends)
    if connection.dialect.name == SQLITE:
        driver.set_trace_callback(traced)
    yield
    event.remove(connection, "before_cursor_execute", begins)
    event.remove(connection, "after_cursor_execute", ends)
    if connection.dialect.name == SQLITE:
        driver.set_trace_callback(None)


def _plans(connection: Connection, work: Callable[[Connection], object], table: str) -> list[str]:
    """Query plans of every statement on `table` that `work` runs. The work is rolled back."""
    said: list[tuple[str, Any]] = []
    with _heard(connection, said):
        work(connection)
    explain = "EXPLAIN QUERY PLAN" if connection.dialect.name == SQLITE else "EXPLAIN"
    found = [
        str([dict(row) for row in connection.exec_driver_sql(f"{explain} {statement}", given).mappings()])
        for statement, given in said
        if f" {table} " in statement.replace("\n", " ")
    ]
    connection.rollback()
    return found


async def plans(database: Database, work: Callable[[Connection], object], table: str = "memories") -> Sequence[str]:
    return await database.write(lambda connection: _plans(connection, work, table))


@pytest.mark.parametrize(
    "criteria",
    [
        Criteria(),
        Criteria(project="p", types=(MemoryType.FACT,), tags=("a",), since=1, until=2**60, min_confidence=0.5),
    ],
)
async def test_a_listing_walks_the_index_from_its_newest_end(many: Database, criteria: Criteria) -> None:
    """Each page starts at its cursor in the index."""
    condition = visible(Viewer("w1", "ada", ("o",)), criteria, START)

    for before in (None, (START + ROWS // 2, IDS[200])):
        (plan,) = await plans(many, partial(reading._listing, condition=condition, limit=20, before=before))
        assert BY_AGE in plan
        assert before is None or "created_at<?" in plan or "'type': 'range'" in plan, plan
        for slow in ("TEMP B-TREE", "filesort", "temporary"):
            assert slow not in plan


async def test_ids_are_found_by_the_primary_key(many: Database) -> None:
    """For reading, marking and locking."""
    marked = dict.fromkeys(IDS, 1)
    embedded = [Embedded(memory_id=each, workspace_id="w1", revision=1, input_hashes=()) for each in IDS]

    for work in (
        lambda connection: rows.read_rows(connection, IDS),
        lambda connection: index_marks._mark(connection, IndexKind.TEXT, marked, START),
        lambda connection: vectors._lock_current(connection, embedded),
    ):
        (plan,) = await plans(many, work)
        assert "sqlite_autoindex_memories_1" in plan or "'key': 'PRIMARY'" in plan


async def test_a_part_of_the_truth_is_added_up_without_reading_the_rest(many: Database) -> None:
    for kind in IndexKind:
        generation = Generation(kind=kind, name="i", model="m", dimensions=1, builder="b", status="serving")
        for work in (
            partial(expected_entries.sums, generation=generation, after=IDS[10], until=IDS[12]),
            partial(expected_entries.in_buckets, generation=generation, after=IDS[10], until=IDS[12], buckets=[1]),
            partial(expected_entries.behind, generation=generation, after=IDS[10], until=IDS[12], limit=5),
        ):
            for plan in await plans(many, work):
                assert "sqlite_autoindex_memories_1" in plan or "'key': 'PRIMARY'" in plan, plan
                assert "INDEX ix_memories" not in plan, plan
                assert "'key': 'ix_memories" not in plan, plan


async def test_a_walk_through_all_that_lives_reads_each_row_once(many: Database) -> None:
    """Page by page in the order of ids: no page reads the live rows of the others."""
    for work in (
        partial(index_entries.listed, extent=Extent(kind=IndexKind.TEXT), after=IDS[100], limit=1000),
        partial(index_entries.listed, extent=Extent(kind=IndexKind.VECTOR), after=IDS[100], limit=1000),
        partial(index_entries.listed, extent=Extent(kind=IndexKind.TEXT, until=2**52), after=IDS[100], limit=1000),
        partial(vectors.unembedded, model="m", until=START + 1, after=IDS[100], limit=1000),
    ):
        *_, plan = await plans(many, work)
        assert "sqlite_autoindex_memories_1 (id>?" in plan or "'key': 'PRIMARY'" in plan
        for slow in ("TEMP B-TREE", "filesort", "temporary"):
            assert slow not in plan


async def test_each_page_of_a_walk_through_a_workspace_begins_where_it_begins(many: Database) -> None:
    """It starts at the cursor, and not at the start of the workspace or the project."""
    at = START + ROWS // 2, IDS[200]
    selection = Selection(workspace_id="w1", criteria=Criteria(), at=START + ROWS, made_by=START + ROWS)
    condition = and_(LIVING, compiled(everything("w1", Criteria())))
    of_workspace = Extent(kind=IndexKind.TEXT, workspace_id="w1")
    first, last = (Partition("p", "project", "fact", "", audience) for audience in ("a", "b"))
    for work, index in (
        (partial(subjects.page, selection=selection, limit=20, after=at), BY_AGE),
        (partial(cleaning._page, selection=selection, limit=20, after=at), BY_AGE),
        (partial(transferring._kept, wanted=and_(condition, newer_than(at, *transferring._OLDEST)), limit=20), BY_AGE),
        (partial(closing.erase_all, workspace_id="w1", limit=20, since=at[0], now=START + ROWS), BY_AGE),
        (partial(index_entries.listed, extent=of_workspace, after=at[1], limit=20), BY_AGE),
        (partial(partitions.members, selection=selection, first=first, last=first, limit=20, after=at), BY_PROJECT),
        (partial(partitions.members, selection=selection, first=first, last=last, limit=20, after=at), BY_PROJECT),
    ):
        by_it = f"INDEX {index} ", f"'key': '{index}'"
        plan, *_ = [each for each in await plans(many, work) if any(words in each for words in by_it)]
        assert "created_at>?" in plan or "(created_at,id)>(?,?)" in plan or "'type': 'range'" in plan, plan
        # For some partitions SQLite sorts the remaining rows and for others not, depending on the order of the
        # conditions.
        assert "filesort" not in plan, plan


async def test_what_waits_for_vectors_is_looked_for_in_some_rows_a_statement(many: Database) -> None:
    """If nearly all rows have vectors, no statement reads them all, and the scan reads each row once."""
    *_, plan = await plans(many, partial(vectors.unembedded, model="m", until=START + 1, after=IDS[100], limit=1))
    assert "(id>? AND id<?)" in plan or "'type': 'range'" in plan
    looks: list[vectors.Lacking] = []
    while look := await many.read(
        partial(vectors.unembedded, model="m", until=0, after=looks[-1].looked if looks else "", limit=1)
    ):
        looks.append(look)
    assert len(looks) == ROWS // vectors.LOOKED

    count = 2 * vectors.LOOKED + 1
    found = await vectors.SqlVectors(many, FakeClock()).unembedded("m", START + 1, IDS[0], count)

    assert found == [_id(number) for number in range(1, count + 1)]


async def test_a_walk_through_a_workspace_reads_each_row_once(many: Database) -> None:
    """Page by page in the order of creation: no page sorts all rows."""
    for workspace in ("w1", "w2"):
        extent = Extent(kind=IndexKind.VECTOR, workspace_id=workspace, until=2**52)
        for after in ("", IDS[100]):
            *_, plan = await plans(many, partial(index_entries.listed, extent=extent, after=after, limit=1000))
            assert BY_AGE in plan
            for slow in ("TEMP B-TREE", "filesort", "temporary"):
                assert slow not in plan


async def test_what_ends_in_steps_is_found_in_the_order_of_the_index(many: Database) -> None:
    """Each step continues where the last one stopped: it sorts nothing, and reads no row twice."""
    bulk = Bulk(condition=visible(Viewer("w1", "ada", ("o",)), Criteria(project="p"), START), made_by=START + 500)

    for work in (
        lambda connection: erasing.newest(connection, bulk, 200),
        lambda connection: closing.erase_all(connection, "w1", 20, START + 500, START),
        lambda connection: closing._drop_rows(connection, "w1", 20),
    ):
        plan, *_ = await plans(many, work)
        assert BY_AGE in plan
        for slow in ("TEMP B-TREE", "filesort", "temporary"):
            assert slow not in plan


async def test_the_rest_of_what_is_new_finds_its_rows_by_an_index(many: Database) -> None:
    """Finding work, past recalls or a workspace's keys never reads a whole table."""
    looked: list[tuple[str, Callable[[Connection], object]]] = [
        ("operations", lambda connection: operations._hold(connection, "me", ["forget"], START, START + 1)),
        ("operations", unused_vectors.awaited_inputs),
        ("recalls", lambda connection: recalls.purge(connection, START, 500, None)),
        ("idempotency_keys", lambda connection: idempotency.blank_keys(connection, "w1", IDS)),
        ("memory_history", lambda connection: closing.counts(connection, "w1")),
        ("signal_history", lambda connection: closing.counts(connection, "w1")),
    ]

    for table, work in looked:
        for plan in await plans(many, work, table):
            assert "SEARCH " in plan or "'key': '" in plan, (table, plan)


async def test_turns_are_found_by_their_ids_and_by_their_places(many: Database) -> None:
    condition = visible(Viewer("w1", "ada", ("o",)), Criteria(project="p"), START)
    plan, *_ = await plans(many, partial(session_turns.read_turns, ids=IDS[:30], condition=condition, around=(-1, 1)))
    assert f"INDEX {TURNS}" in plan or "'key': 'PRIMARY'" in plan

    agents = Criteria(scopes=(Scope.AGENT,), agents=("ada",))
    for sessions, criteria in itertools.product((1, session_turns.SESSIONS_AT_ONCE), (Criteria(project="p"), agents)):
        within = compiled(visible(Viewer("w1", "ada", ("o",)), criteria, START))
        places = {f"s{number}": (number, number + 1) for number in range(sessions)}
        read_places = partial(session_turns.read_places, workspace_id="w1", places=places, within=within)
        (plan,) = await plans(many, read_places)
        assert f"INDEX {SESSION_TURN}" in plan or f"'key': '{SESSION_TURN}'" in plan, plan
        assert "session_id=? AND turn" in plan or "'type': 'range'" in plan


async def test_the_newest_of_a_conversation_are_found_without_reading_the_rest(many: Database) -> None:
    """The order comes from the index alone, also from the middle on."""
    criteria = Criteria(types=(MemoryType.FACT,), metadata=("sessionId=s1", "role=user"))
    condition = visible(Viewer("w1", "ada", session_id="s1"), criteria, START)

    for before in (None, (START + ROWS // 2, IDS[200])):
        (plan,) = await plans(many, partial(reading._listing, condition=condition, limit=100, before=before))
        assert CONVERSATION in plan
        for slow in ("TEMP B-TREE", "filesort", "temporary"):
            assert slow not in plan
