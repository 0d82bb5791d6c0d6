"""Erases submissions from streams: the entries, the memory blocks that contained them, and the server's files.

Redis only marks a deleted entry and keeps its bytes until its block is freed, also in the files that it writes. So a
stream is rewritten after a deletion, and then the append-only file.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from openbrain.domain.errors import TryLater, error_kind, error_text
from openbrain.domain.events.envelope import FIELD_BYTES
from openbrain.domain.events.streams import STREAMS, SUBMITTED, dead_letters, replays
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.streams import Doomed, Swept
from openbrain.settings import Streams
from openbrain.streams.group.consumer_group import folded
from openbrain.streams.redis.connection import ask, errors_as_try_later, server_time
from openbrain.streams.redis.entry_ids import behind, first_part, in_order
from openbrain.streams.redis.keys import retry_states
from openbrain.streams.redis.scripts import NARROW, Script

PAGE = 500
LONGEST = 50_000
"""Entries of a stream that is rewritten, at most: a rewrite blocks the server for about 10 microseconds per entry."""
PASSES = 5
"""Passes over dead letters and replays, between which entries move, until one finds nothing to delete."""
PATIENCE_S = 20.0
_log = structlog.get_logger(__name__)
_PARTS = re.compile(
    rf"(?:\.(?P<workspace>[A-Za-z0-9_-]+))?(?P<dead>\.(?:{'|'.join(SUBMITTED.groups)})\.(?:dead|replay))?"
)
_REWRITE = Script("rewrite", NARROW)


class StreamEraser:
    """Erases from every stream of submissions, also of workspaces no longer bound, then from its dead letters, then
    from its replays: in this order, so that an entry that becomes a dead letter meanwhile is found there."""

    def __init__(self, client: Redis, settings: Streams, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._first = settings.prefix + SUBMITTED.name
        self._prefix = settings.prefix

    async def sweep_taken(self, doomed: Doomed) -> Swept:
        """Delete doomed entries, except those that a group has yet to process."""
        return await self.sweep(doomed, taken_only=True)

    async def sweep(self, doomed: Doomed, *, taken_only: bool = False) -> Swept:
        """Delete doomed entries. `TryLater` while the server does not answer; call again to delete the rest."""
        with errors_as_try_later("streams will be swept later"):
            ahead = await self._ahead()
            swept = await self._swept(await self._streams(), doomed, ahead, taken_only=taken_only)
            # After its dead letters were swept, an entry of a replay may fail for good and become one.
            for _ in range(PASSES):
                moving = [name for name in await self._streams() if name.endswith((".dead", ".replay"))]
                more = await self._swept(moving, doomed, ahead, taken_only=taken_only)
                if not more.deleted:
                    return swept
                deleted = Counter(swept.deleted) + Counter(more.deleted)
                swept = replace(swept, deleted=deleted, too_long=tuple({*swept.too_long, *more.too_long}))
        raise TryLater("dead letters are moved faster than they are swept: streams will be swept later")

    async def _swept(self, names: Sequence[str], doomed: Doomed, ahead: int, *, taken_only: bool) -> Swept:
        deleted: dict[str, int] = {}
        too_long: list[str] = []
        looked_at = unjudged = 0
        for stream in names:
            ids, seen, not_judged = await self._judged(stream, doomed, ahead)
            if taken_only and ids and not stream.endswith(".dead"):
                ids = await self._taken(stream, ids)
            looked_at += seen
            unjudged += not_judged
            if not ids:
                continue
            if await _REWRITE(self._client, (stream, f"{stream}.rewritten"), LONGEST, *ids) < 0:
                too_long.append(stream)
            deleted[stream] = len(ids)
        return Swept(looked_at, deleted, tuple(too_long), unjudged)

    async def drop(self, workspace_id: str) -> int:
        """Delete the streams of a workspace, with their dead letters and retry states; return the number of keys
        deleted."""
        keys: list[str] = []
        for spec in STREAMS:
            if spec.per_workspace:
                stream = f"{self._prefix}{spec.name}.{workspace_id}"
                keys.append(stream)
                for group in spec.groups:
                    again = replays(stream, group)
                    keys += [dead_letters(stream, group), retry_states(stream, group)]
                    keys += [again, retry_states(again, group)]
        with errors_as_try_later("the workspace's streams will be deleted later"):
            return int(await self._client.delete(*keys))

    async def settle_files(self) -> str:
        """Have the server rewrite its files and wait for it; return what was done. `TryLater` if it is not done yet."""
        with errors_as_try_later("its files will be rewritten later"):
            about = await self._persistence()
            return await (self._append_only_file() if int(about.get("aof_enabled", 0)) else self._snapshot())

    async def _append_only_file(self) -> str:
        await self._until_idle("aof_rewrite_in_progress", "aof_rewrite_scheduled")
        try:
            await ask(self._client, "BGREWRITEAOF")
        except ResponseError as error:
            return _refused("BGREWRITEAOF", error)
        about = await self._until_idle("aof_rewrite_in_progress", "aof_rewrite_scheduled")
        if about.get("aof_last_bgrewrite_status") != "ok":
            raise TryLater("Redis could not rewrite its append-only file: look at its log and its disk")
        return "append-only file written anew"

    async def _snapshot(self) -> str:
        try:
            _, points = await ask(self._client, "CONFIG", "GET", "save")
        except (ResponseError, ValueError):
            return "the server keeps no append-only file; whether it keeps snapshots, this user may not ask"
        if not points:
            return "the server keeps no files"
        await self._until_idle("rdb_bgsave_in_progress")
        try:
            await ask(self._client, "BGSAVE")
        except ResponseError as error:
            return _refused("BGSAVE", error)
        about = await self._until_idle("rdb_bgsave_in_progress")
        if about.get("rdb_last_bgsave_status") != "ok":
            raise TryLater("Redis could not rewrite its snapshot: look at its log and its disk")
        return "snapshot written anew"

    async def _until_idle(self, *names: str) -> Mapping[str, Any]:
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            about = await self._persistence()
            if not any(int(about.get(name, 0)) for name in names):
                return about
            if asyncio.get_running_loop().time() > deadline:
                raise TryLater("Redis is still writing its files: they will be checked again")
            await asyncio.sleep(0.05)

    async def _persistence(self) -> Mapping[str, Any]:
        info: Mapping[str, Any] = await self._client.info("persistence")
        return info

    async def _streams(self) -> Sequence[str]:
        first = re.sub(r"[\\*?\[\]]", r"\\\g<0>", self._first)  # the prefix is free: no letter of it is a wildcard
        keys = self._client.scan_iter(f"{first}*", count=1000, _type="stream")
        # A name that is not text is not one of ours.
        names = {key.decode(errors="replace") async for key in keys}
        return [name for name in sorted(names) if _PARTS.fullmatch(name.removeprefix(self._first))]

    async def _ahead(self) -> int:
        """Return how far the server's clock, which ids come from, is ahead of ours, in microseconds."""
        return await server_time(self._client) - self._clock.now()

    def _added(self, entry_id: str, ahead: int) -> int | None:
        """Return when an entry was added; None if its id was chosen by a producer, so that its time is in the
        future."""
        added = first_part(entry_id) * MICROSECONDS // 1000 - ahead
        return added if added <= self._clock.now() + MICROSECONDS else None

    async def _judged(self, stream: str, doomed: Doomed, ahead: int) -> tuple[list[str], int, int]:
        """Return the ids to delete, the number of entries seen, and the number that could not be judged. An entry on
        which `doomed` fails stays, and does not stop the others."""
        parts = _PARTS.fullmatch(stream.removeprefix(self._first))
        bound, dead = (parts["workspace"] or "", bool(parts["dead"])) if parts else ("", False)
        ids: list[str] = []
        seen, unjudged = 0, 0
        async for entry_id, fields in self._entries(stream):
            seen += 1
            added = None if dead else self._added(entry_id, ahead)
            try:
                goes = any(doomed(value, bound, added) for value in _values(fields))
            except Exception as error:  # noqa: BLE001 - any producer may have written it
                unjudged += 1
                what, why = error_kind(error), error_text(error)
                _log.error("erasing.not_judged", stream=stream, entry=entry_id, error=what, message=why)
                continue
            if goes:
                ids.append(entry_id)
        return ids, seen, unjudged

    async def _taken(self, stream: str, ids: Sequence[str]) -> list[str]:
        """Return the entries that every group has acknowledged; none if no group reads the stream."""
        groups: Sequence[Any] = await self._client.xinfo_groups(stream)
        taken = list(ids) if groups else []
        for group in groups:
            last = in_order(group["last-delivered-id"].decode())
            waiting = [bool(await self._client.xpending_range(stream, group["name"], item, item, 1)) for item in taken]
            taken = [item for item, waits in zip(taken, waiting, strict=True) if in_order(item) <= last and not waits]
        return taken

    async def _entries(self, stream: str) -> AsyncIterator[tuple[str, Mapping[bytes, bytes]]]:
        start: str | None = "-"
        while start and (entries := await ask(self._client, "XRANGE", stream, start, "+", "COUNT", PAGE)):
            for raw_id, fields in entries:
                yield raw_id.decode(), fields
            start = behind(entries[-1][0].decode())


def _values(fields: Mapping[bytes, bytes]) -> Sequence[bytes]:
    """Return the event, or all values of a foreign entry."""
    own = fields.get(FIELD_BYTES)
    return [*fields.values(), *folded(fields)] if own is None else [own]


def _refused(command: str, error: ResponseError) -> str:
    return f"{command} was refused ({str(error).split(' ', 1)[0]}): an operator must run it"
