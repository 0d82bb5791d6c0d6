"""How the databases find signals and broadcasts among ten thousand that have ended."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Connection, text

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.schema.signal_tables import signals
from openbrain.adapters.sql.signals import broadcasts, reading, rows, sweeping
from openbrain.adapters.sql.signals.raising import count_of_source
from openbrain.adapters.sql.signals.rows import signal_row
from openbrain.domain.signals.rules import SignalTimes, opened, resolved, swept
from openbrain.domain.signals.values import Severity
from tests.contracts.store.database.test_plans import many, plans
from tests.support.signals.raising import raised
from tests.support.store.fixtures import START, viewer
from tests.support.store.mariadb import filled

__all__ = ["many"]

ROWS = 10_000
_DIGITS = " UNION ALL ".join(f"SELECT '{digit}' AS d" for digit in range(10))
_NUMBER = {"sqlite": "a.d || b.d || c.d || e.d", "mysql": "CONCAT(a.d, b.d, c.d, e.d)"}
_ID = {"sqlite": "'00000000-0000-7000-8000-00000000' || n", "mysql": "CONCAT('00000000-0000-7000-8000-00000000', n)"}
TIMES = SignalTimes()


def _fill(connection: Connection) -> None:
    """Insert signals of a hundred sources that ended long ago, with two broadcasts each."""
    connection.execute(text(f"INSERT INTO workspaces (id, name, created_at) VALUES ('w1', 'w1', {START})"))
    dialect = connection.dialect.name
    over = resolved(opened(raised(), START), "ada", "", START)
    _, gone = swept(over, START + TIMES.tombstone, TIMES) or (None, over)
    sample = signal_row(gone, TIMES)
    counted = {"id": _ID[dialect], "first_raised_at": f"{START} + n", "source": "n % 100"}
    chosen = ", ".join(counted.get(name, f":{name}") for name in sample)
    given = {name: value for name, value in sample.items() if name not in counted}
    numbers = f"(WITH t AS ({_DIGITS}) SELECT {_NUMBER[dialect]} AS n FROM t a, t b, t c, t e) AS numbered"
    connection.execute(text(f"INSERT INTO signals ({', '.join(sample)}) SELECT {chosen} FROM {numbers}"), given)
    told = f"'w1', 1 + n, {_ID[dialect]}, '', 0, 'body', {START} + n"
    columns = "workspace_id, seq, signal_id, org, everyone, body, at"
    connection.execute(text(f"INSERT INTO broadcasts ({columns}) SELECT {told} FROM {numbers}"))


@pytest.fixture(scope="module", params=["sqlite", "mariadb"])
def many_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with filled(request.param, request, tmp_path_factory.mktemp("many"), _fill) as url:
        yield url


async def test_signals_are_found_by_an_index(many: Database) -> None:
    key = rows.open_key("w1", "identity")
    works: list[tuple[Callable[[Connection], object], str, set[str]]] = [
        (lambda it: sweeping.due_rows(it, 10, START), "signals", {"ix_signals_due_at"}),
        (
            lambda it: rows.one_signal(it, signals.c.open_key == key),
            "signals",
            {"const tables", "autoindex_signals"},
        ),
        (
            lambda it: count_of_source(it, raised(source="7", severity=Severity.INFO), START + ROWS - 60, 60),
            "signals",
            {"ix_signals_workspace_id_source"},
        ),
        (lambda it: reading._present(it, viewer(), 100), "signals", {"ix_signals_workspace_id_state"}),
        (lambda it: reading._unacknowledged(it, 100), "signals", {"ix_signals_workspace_id_state"}),
        (
            lambda it: it.execute(
                signals.select()
                .where(rows.of_viewer(viewer()))
                .order_by(signals.c.first_raised_at.desc(), signals.c.id.desc())
                .limit(20)
            ).all(),
            "signals",
            {"ix_signals_workspace_id_first_raised_at"},
        ),
        (
            lambda it: broadcasts._floor(it, "w1", START + 5),
            "broadcasts",
            {"'key': 'PRIMARY'", "autoindex_broadcasts"},
        ),
    ]
    for number, (work, table, names) in enumerate(works):
        for plan in await plans(many, work, table):
            assert any(name in plan for name in names), (number, plan)
