"""The other side of `remember`: raw drivers that insert a row, its history and its event, and commit.

The statements use the tables that OpenBrain created; the values are bound, and nothing is validated or looked up.
"""

import asyncio
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiomysql
from sqlalchemy.engine import make_url

COLUMNS = (
    "id workspace_id org project agent_id session_id speaker memory_scope audience type content tags metadata source "
    "confidence version revision content_hash dedupe_key occurred_at confirmed_at created_at updated_at wants_vector"
).split()
HISTORY = "memory_id workspace_id version revision action actor at after".split()


def statements(mark: str) -> tuple[str, str, str]:
    """The inserts of row, history and outbox."""
    columns = ", ".join(COLUMNS)
    history = ", ".join(f"`{name}`" for name in HISTORY)
    return (
        f"INSERT INTO memories ({columns}) VALUES ({', '.join([mark] * len(COLUMNS))})",
        f"INSERT INTO memory_history ({history}) VALUES ({', '.join([mark] * len(HISTORY))})",
        f"INSERT INTO outbox (stream, body) VALUES ({mark}, {mark})",
    )


def values(content: str) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The bound values of one write."""
    identity, digest, now = str(uuid.uuid4()), uuid.uuid4().hex * 2, time.time_ns() // 1000
    row = (identity, "default", "acme", "p", "", "", "", "project", "*", "fact", content, "[]", "{}", "manual", 1.0)
    return (
        (*row, 1, 1, digest, digest, now, now, now, now, 1),
        (identity, "default", 1, 1, "created", "bench", now, content),
        ("memory.stored", content.encode() * 2),
    )


def sqlite_rate(path: Path, clients: int, requests: int, content: Callable[[int], str]) -> float:
    """Commits per second of threads that share one connection, the fastest way to commit to SQLite from one process."""
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    lock = threading.Lock()
    left = iter(range(requests))
    sql = statements("?")

    def work() -> None:
        for number in left:
            bound = values(content(number))
            with lock:
                connection.execute("BEGIN IMMEDIATE")
                for statement, parameters in zip(sql, bound, strict=True):
                    connection.execute(statement, parameters)
                connection.execute("COMMIT")

    threads = [threading.Thread(target=work) for _ in range(clients)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begun
    connection.close()
    return requests / seconds


def mariadb_rate(url: str, clients: int, requests: int, content: Callable[[int], str]) -> float:
    """Commits per second, with one connection per client."""
    return asyncio.run(_mariadb_rate(url, clients, requests, content))


async def _mariadb_rate(url: str, clients: int, requests: int, content: Callable[[int], str]) -> float:
    address = make_url(url)
    login = {"host": address.host, "port": address.port, "user": address.username, "password": address.password}
    connections = [await aiomysql.connect(db=address.database, charset="utf8mb4", **login) for _ in range(clients)]
    left = iter(range(requests))
    sql = statements("%s")

    async def work(connection: Any) -> None:
        async with connection.cursor() as cursor:
            await cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            for number in left:
                for statement, parameters in zip(sql, values(content(number)), strict=True):
                    await cursor.execute(statement, parameters)
                await connection.commit()

    begun = time.perf_counter()
    await asyncio.gather(*(work(connection) for connection in connections))
    seconds = time.perf_counter() - begun
    for connection in connections:
        await connection.ensure_closed()
    return requests / seconds
