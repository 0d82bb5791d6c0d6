"""Producers by XADD: a submission is acknowledged by the memory.stored event that names it, or by a dead letter."""

import asyncio
import contextlib
import time
from collections import defaultdict
from typing import Any

import orjson
from redis.asyncio import Redis
from redis.exceptions import RedisError

from openbrain.streams.redis.connection import disconnect

AWAY = (RedisError, OSError, TimeoutError)
AGAIN_S = 4.0
"""A producer submits again if it is not acknowledged within this time: an XADD is only as durable as its Redis."""
WORK = ("memory.stored", "memory.embedded", "memory.superseded")


class Submissions:
    """Appends submissions, and follows the work streams to learn their outcome."""

    def __init__(self, client: Redis, prefix: str, workspace: str) -> None:
        self._redis, self._prefix, self._workspace = client, prefix, workspace
        self._stored: dict[str, str] = {}
        self._heard: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._following: asyncio.Task[None] | None = None
        self.problems: list[str] = []
        self.archive: dict[str, dict[bytes, None]] = {stream: {} for stream in WORK}
        """Every entry ever seen, by stream, in order: the streams themselves are trimmed."""
        self.sent = 0
        self._over = False

    def start(self) -> None:
        self._following = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        """Stop by a flag, not by cancellation: Python 3.11 can lose a cancellation inside a wait for Redis."""
        self._over = True
        if self._following is not None:
            await asyncio.gather(self._following, return_exceptions=True)
        await disconnect(self._redis)

    async def submit(self, event_id: str, body: dict[str, Any], patience_s: float) -> str:
        """Return the id of the memory. Raise `TimeoutError` if it is not acknowledged."""
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            await self._append(event_id, body, deadline)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_S):
                    await self._heard[event_id].wait()
                return self._stored[event_id]
        raise TimeoutError

    async def _append(self, event_id: str, body: dict[str, Any], deadline: float) -> None:
        event = {
            "specversion": "1.0",
            "id": event_id,
            "source": "/faults",
            "type": "openbrain.memory.submitted.v1",
            "datacontenttype": "application/json",
            "data": {**body, "workspace_id": self._workspace},
        }
        while time.monotonic() < deadline:
            try:
                await self._redis.xadd(f"{self._prefix}memory.submitted", {"__data__": orjson.dumps(event)})
            except AWAY:
                await asyncio.sleep(0.1)
            else:
                self.sent += 1
                return

    async def _follow(self) -> None:
        cursors: dict[Any, Any] = {self._prefix + stream: "0-0" for stream in WORK}
        while not self._over:
            try:
                found: Any = await self._redis.xread(cursors, count=500, block=500)
            except AWAY:
                await asyncio.sleep(0.1)
                continue
            for name, entries in found or ():
                stream = name.decode()
                for entry, fields in entries:
                    cursors[stream] = entry
                    body = fields.get(b"__data__", b"")
                    self.archive[stream.removeprefix(self._prefix)][body] = None
                    if stream.endswith("memory.stored"):
                        self._note(body)

    def _note(self, raw: bytes) -> None:
        try:
            event = orjson.loads(raw)
            cause, memory_id = event.get("causationid"), event["data"]["memory_id"]
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            return
        if not cause or event["data"].get("change") not in {"created", "duplicate"}:
            return
        known = self._stored.setdefault(cause, memory_id)
        if known != memory_id:
            self.problems.append(f"submission {cause} was acknowledged as {known} and as {memory_id}")
        self._heard[cause].set()
