"""The transaction runner on MariaDB only: deadlocks, lost connections, a server that stops and starts."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvloop
from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.util import await_only

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.domain.errors import SetupError, TryLater
from tests.servers.plugin import Starter
from tests.support.processes.tcp_proxy import TcpProxy
from tests.support.waiting import PATIENCE_S


@pytest.fixture
async def server(mariadb_url: str) -> AsyncIterator[Database]:
    opened = open_database(mariadb_url, pool=4, lock_wait_s=PATIENCE_S)
    await opened.write(lambda connection: connection.execute(text("CREATE TABLE n (i INT PRIMARY KEY, t VARCHAR(3))")))
    await opened.write(lambda connection: connection.execute(text("INSERT INTO n VALUES (1, 'a'), (2, 'b')")))
    yield opened
    await opened.close()


def change(number: int) -> Any:
    return lambda connection: connection.execute(text("UPDATE n SET t = 'c' WHERE i = :i"), {"i": number})


async def test_a_process_takes_two_connections_for_each_of_its_pool(mariadb_url: str) -> None:
    """docs/operations/capacity.md counts them."""
    opened, meeting = open_database(mariadb_url, pool=1), asyncio.Barrier(2)

    def number(connection: Connection) -> int:
        found = connection.scalar(text("SELECT CONNECTION_ID()"))
        await_only(meeting.wait())
        return int(found or 0)

    reading, writing = await asyncio.gather(opened.read(number), opened.write(number))
    again = await asyncio.gather(opened.read(number), opened.write(number))
    await opened.close()

    assert reading != writing
    assert list(again) == [reading, writing]


async def test_mariadb_cuts_nothing(server: Database) -> None:
    with pytest.raises(DBAPIError, match=re.escape("(1406")):
        await server.write(lambda connection: connection.execute(text("INSERT INTO n VALUES (3, 'long')")))


async def test_mariadb_repeats_a_deadlock(server: Database) -> None:
    meeting = asyncio.Barrier(2)
    attempts = 0

    def crosswise(first: int, second: int) -> Any:
        met = False

        def transaction(connection: Connection) -> None:
            nonlocal attempts, met
            attempts += 1
            change(first)(connection)
            if not met:
                met = True
                await_only(meeting.wait())
            change(second)(connection)

        return transaction

    await asyncio.gather(server.write(crosswise(1, 2)), server.write(crosswise(2, 1)))
    assert attempts == 3


async def test_mariadb_lets_a_waiter_go_in_time(server: Database, mariadb_url: str) -> None:
    hasty = open_database(mariadb_url, pool=4, lock_wait_s=1)
    held, done = asyncio.Event(), asyncio.Event()

    def holds(connection: Connection) -> None:
        change(1)(connection)
        held.set()
        await_only(done.wait())

    holder = asyncio.create_task(server.write(holds))
    await held.wait()
    with pytest.raises(TryLater, match="busy"):
        await hasty.write(change(1))
    await hasty.close()
    done.set()
    await holder
    await server.write(change(1))


async def test_mariadb_repeats_when_a_connection_is_lost(server: Database) -> None:
    attempts = 0

    def loses(connection: Connection) -> None:
        nonlocal attempts
        attempts += 1
        change(1)(connection)
        if attempts == 1:
            own = connection.scalar(text("SELECT CONNECTION_ID()"))
            connection.execute(text(f"KILL {own}"))
        change(2)(connection)

    await server.write(loses)
    assert attempts == 2


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (1290, "no writes"),
        (1836, "no writes"),
        (1047, "no writes"),
        (1026, "no writes"),
        (1030, "no writes"),
        (1114, "no writes"),
        (3, "no writes"),
        (28, "no writes"),
        (1317, "busy"),
        (1021, "busy"),
        (1040, "max_connections"),
        (1226, "max_connections"),
    ],
)
async def test_what_mariadb_takes_later_is_nobodys_fault(server: Database, number: int, told: str) -> None:
    """Treated as a refused statement, it would cost healthy entries their attempts."""
    refusing = text(f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'as told'")
    with pytest.raises(TryLater, match=told):
        await server.write(lambda connection: connection.execute(refusing))


async def test_a_mariadb_that_leads_no_more_is_left(server: Database) -> None:
    """The address may already lead to the new primary, but only new connections go there."""
    met: list[int] = []

    def refused(connection: Connection) -> None:
        met.append(connection.execute(text("SELECT CONNECTION_ID()")).scalar_one())
        connection.execute(text("START TRANSACTION READ ONLY"))
        change(1)(connection)

    with pytest.raises(TryLater, match="no writes"):
        await server.write(refused)
    assert len(met) == len(set(met)) > 1


async def test_mariadb_not_answering_in_time(server: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_patience", 0.5)
    with pytest.raises(TryLater, match="can't be reached"):
        await server.write(lambda connection: (change(1)(connection), connection.execute(text("SELECT SLEEP(60)"))))
    found = await server.read(lambda connection: list(connection.scalars(text("SELECT t FROM n ORDER BY i"))))
    assert found == ["a", "b"]


def test_mariadb_is_asked_again_after_idle_connections_were_reset(mariadb_url: str) -> None:
    """On the services' event loop, which refuses to write to a connection that was reset."""
    url = make_url(mariadb_url)
    one = lambda connection: connection.scalar(text("SELECT 1"))  # noqa: E731

    async def reset_while_idle() -> list[int]:
        async with TcpProxy(url.port or 0).open() as network:
            opened = open_database(url.set(port=network.port).render_as_string(hide_password=False), pool=2)
            await asyncio.gather(*[run(one) for run in (opened.read, opened.write) for _ in range(2)])
            network.reset()
            await asyncio.sleep(0.1)
            found = [await run(one) for run in (opened.read, opened.write) for _ in range(2)]
            await opened.close()
            return found

    assert uvloop.run(reset_while_idle()) == [1] * 4


@pytest.mark.servers("mariadb")
async def test_mariadb_down_and_up_again(private_server: Starter) -> None:
    mariadb = private_server("mariadb")
    opened = open_database(mariadb.url, pool=2, lock_wait_s=PATIENCE_S)
    one = lambda connection: connection.scalar(text("SELECT 1"))  # noqa: E731
    assert (
        await asyncio.gather(*[opened.read(one) for _ in range(4)], *[opened.write(one) for _ in range(4)]) == [1] * 8
    )
    mariadb.kill()
    for run in (opened.read, opened.write):
        with pytest.raises(TryLater, match="can't be reached"):
            await run(one)
    mariadb.start()
    assert (
        await asyncio.gather(*[opened.read(one) for _ in range(4)], *[opened.write(one) for _ in range(4)]) == [1] * 8
    )
    mariadb.restart()
    assert (
        await asyncio.gather(*[opened.read(one) for _ in range(4)], *[opened.write(one) for _ in range(4)]) == [1] * 8
    )
    await opened.close()


@pytest.mark.parametrize("wrong", [{"password": "hidden"}, {"database": "openbrain_nowhere"}])
async def test_mariadb_refusing_us_is_for_a_person(mariadb_url: str, wrong: dict[str, str]) -> None:
    opened = open_database(make_url(mariadb_url).set(**wrong).render_as_string(hide_password=False))  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="check user, password") as caught:
        await opened.read(lambda connection: connection.scalar(text("SELECT 1")))
    assert "hidden" not in str(caught.value)
    await opened.close()
