"""Outbox: stores writes that could not be sent in a local file until they can; each is delivered once."""

import contextlib
import fcntl
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from openbrain.domain.errors import TryLater
from openbrain.domain.ids import uuid7

MOST = 10_000
FAILURES = 10
"""Server errors of one write before it is set aside."""
KEEPS = {
    "POST": (
        "/v1/brain/remember",
        "/v1/amygdala/signals",
        "/v1/messages/send",
        "/v1/thoughts",
        "/v1/brain/recall/",
        "/vault/write_inbox",
    ),
    "PATCH": ("/v1/brain/memories/",),
    "DELETE": ("/v1/brain/forget/",),
}
"""Requests worth sending later. All of them may be sent twice: they have an idempotency key or are idempotent."""
_TABLE = """CREATE TABLE IF NOT EXISTS writes (
    number INTEGER PRIMARY KEY AUTOINCREMENT, request BLOB NOT NULL, failures INTEGER NOT NULL DEFAULT 0, refused TEXT
)"""

_OWNER = "CREATE TABLE IF NOT EXISTS owner (key_hash TEXT NOT NULL, workspace_id TEXT NOT NULL, agent_id TEXT NOT NULL)"


@dataclass(frozen=True, slots=True)
class Write:
    """One request to send."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def kept(self) -> bool:
        """Whether it is worth sending later."""
        return any(self.path.startswith(prefix) for prefix in KEEPS.get(self.method, ()))

    def keyed(self) -> "Write":
        """Return the request with an idempotency key, so that it may be sent again."""
        if any(name.lower() == "idempotency-key" for name in self.headers):
            return self
        headers = {**self.headers, "idempotency-key": uuid7(0)}
        return Write(self.method, self.path, self.body, self.query, headers)


_of_parents: list[sqlite3.Connection] = []
"""Connections that were opened before a fork: SQLite forbids to use or close them in the child."""


class State(Enum):
    """The state of a write that was stored."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of an outbox's writes: they are never sent for another workspace or agent, whatever key is used
    later."""

    key_hash: str
    """Hash of the key that they were written with."""
    workspace_id: str = ""
    """'' if the server has never said whose key it is."""
    agent_id: str = ""

    def same_as(self, other: "Owner") -> bool:
        """True if both have the same key, or the same workspace and agent."""
        owner = (self.workspace_id, self.agent_id)
        return self.key_hash == other.key_hash or (
            bool(self.workspace_id) and owner == (other.workspace_id, other.agent_id)
        )


class Kept(TryLater):
    """The write was not sent yet but is stored in the outbox: do not send it again."""

    code = "kept"

    def __init__(self, why: str) -> None:
        super().__init__(f"Stored on this machine and sent once the brain answers again; do not repeat it ({why})")


class Outbox:
    """A file of unsent writes for one server and one key. Created when the first write is stored; several processes may
    share it."""

    def __init__(self, path: Path, most: int = MOST) -> None:
        self.path = path
        self._most = most
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()

    @property
    def _opened(self) -> sqlite3.Connection | None:
        """The connection of this process."""
        if self._process != os.getpid():
            if self._connection is not None:
                _of_parents.append(self._connection)
            self._connection, self._process = None, os.getpid()
        return self._connection

    def keep(self, write: Write, owner: Owner | None = None) -> int:
        """Store a write and return its number; it is on disk when this returns. `TryLater` if the outbox is full, or if
        it has unsent writes and it is not known whether they are of the same `owner`."""
        request = json.dumps(asdict(write)).encode()
        with self._changing() as database:
            if self.waiting() >= self._most:
                raise TryLater(f"{self._most} unsent writes are already in {self.path}: start the brain, then continue")
            if owner is not None:
                self._keep_for(owner)
            made = database.execute("INSERT INTO writes (request) VALUES (?)", (request,))
        return made.lastrowid or 0

    def state(self, number: int) -> State:
        """Return what became of a write."""
        row = self._database().execute("SELECT refused FROM writes WHERE number = ?", (number,)).fetchone()
        if row is None:
            return State.DELIVERED
        return State.WAITING if row[0] is None else State.REFUSED

    def waiting(self) -> int:
        """Return the number of unsent requests."""
        return self._count("refused IS NULL")

    def refused(self) -> int:
        """Return the number of requests that the server refused; they stay in the file, with the reason."""
        return self._count("refused IS NOT NULL")

    def last_refusal(self) -> str:
        """Return why the newest refused request was refused; '' if there is none."""
        ask = "SELECT refused FROM writes WHERE refused IS NOT NULL ORDER BY number DESC LIMIT 1"
        row = self._database().execute(ask).fetchone() if self.refused() else None
        return "" if row is None else str(row[0])

    def first(self, owner: Owner | None = None) -> tuple[int, Write] | None:
        """Return the oldest unsent request with its number; None if there is none, or if they are not of `owner`."""
        ask = "SELECT number, request FROM writes WHERE refused IS NULL ORDER BY number LIMIT 1"
        with self._changing() as database:
            row, whose = database.execute(ask).fetchone(), self.owner()
        if row is None or (owner is not None and (whose is None or not whose.same_as(owner))):
            return None
        return row[0], Write(**json.loads(row[1]))

    def delivered(self, number: int) -> None:
        """Remove a request that the server has accepted."""
        with self._changing() as database:
            database.execute("DELETE FROM writes WHERE number = ?", (number,))

    def failed(self, number: int) -> int:
        """Note a server failure of a request; return the number of its failures so far."""
        with self._changing() as database:
            database.execute("UPDATE writes SET failures = failures + 1 WHERE number = ?", (number,))
            (failures,) = database.execute("SELECT failures FROM writes WHERE number = ?", (number,)).fetchone()
        return int(failures)

    def refuse(self, number: int, reason: str) -> None:
        """Set aside a request that the server will never accept."""
        with self._changing() as database:
            database.execute("UPDATE writes SET refused = ? WHERE number = ?", (reason, number))

    def owner(self) -> Owner | None:
        """Return the owner; None if nothing was ever stored."""
        if self._opened is None and not self.path.exists():
            return None
        row = self._database().execute("SELECT key_hash, workspace_id, agent_id FROM owner").fetchone()
        return None if row is None else Owner(*row)

    def give_to(self, owner: Owner) -> None:
        """Set the owner. Unsent writes of another workspace or agent are set aside and never sent."""
        with self._changing():
            self._own(owner)

    @contextlib.contextmanager
    def delivering(self) -> Iterator[bool]:
        """Yield whether this process may deliver now: only one does at a time, so that the order is kept."""
        with self.path.with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            try:
                yield True
            finally:
                # Closing the file is not enough if another thread has forked meanwhile.
                fcntl.flock(lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file."""
        if self._opened is not None:
            self._opened.close()
            self._connection = None

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Begin a transaction in which no other process changes the file."""
        with self._database() as database:
            database.execute("BEGIN IMMEDIATE")
            yield database

    def _keep_for(self, owner: Owner) -> None:
        before = self.owner()
        if before is not None and not owner.workspace_id:
            if before.same_as(owner):
                return
            if self.waiting():
                raise TryLater(f"{self.path} holds unsent writes of another key: start the brain, then continue")
        self._own(owner)

    def _own(self, owner: Owner) -> None:
        before, database = self.owner(), self._database()
        if before is not None and not before.same_as(owner):
            whose = f"{before.agent_id or 'no agent'} of {before.workspace_id or 'an unknown workspace'}"
            reason = f"written for {whose}: the key belongs to another owner"
            database.execute("UPDATE writes SET refused = ? WHERE refused IS NULL", (reason,))
        database.execute("DELETE FROM owner")
        database.execute("INSERT INTO owner VALUES (?, ?, ?)", astuple(owner))

    def _count(self, which: str) -> int:
        if self._opened is None and not self.path.exists():
            return 0
        (count,) = self._database().execute(f"SELECT count(*) FROM writes WHERE {which}").fetchone()  # noqa: S608
        return int(count)

    def _database(self) -> sqlite3.Connection:
        opened = self._opened
        if opened is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A blocking client opens it in the thread that it is made in, and goes on in its own.
            opened = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
            try:
                self.path.chmod(0o600)
                opened.execute("PRAGMA journal_mode = WAL")
                opened.execute("PRAGMA synchronous = FULL")
                opened.execute("PRAGMA secure_delete = ON")  # delivered content must not stay on disk
                opened.execute(_TABLE)
                opened.execute(_OWNER)
                opened.commit()
            except BaseException:
                opened.close()
                raise
            self._connection = opened
        return opened
