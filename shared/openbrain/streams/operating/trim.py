"""Trims streams: removes old entries that all groups have read from the head, never from the middle or by length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from redis.asyncio import Redis

from openbrain.domain.events.streams import BROADCAST, every_stream
from openbrain.ports.streams import OutsideGroup
from openbrain.settings import Streams
from openbrain.streams.monitoring.gauges import groups_of
from openbrain.streams.redis import scripts
from openbrain.streams.redis.connection import ask, server_time
from openbrain.streams.redis.entry_ids import in_order
from openbrain.streams.redis.keys import retry_states

_log = structlog.get_logger(__name__)
Id = tuple[int, int]
_AT_ONCE = 100_000
_ALL: Id = (2**64 - 1, 2**64 - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimmed:
    """The result of trimming one stream."""

    stream: str
    removed: int
    held_back_by: str = ""
    """The registered group whose unread entries prevented removing more; '' if none."""
    unregistered: tuple[str, ...] = ()
    """Undeclared groups; entries are not kept for them."""


def plan(settings: Streams) -> dict[str, tuple[str, ...]]:
    """Return our streams by full name, with the groups that must have read them. Without broadcasts: their ids are
    numbers, not times."""
    groups: dict[str, tuple[str, ...]] = {}
    for name, spec in every_stream(settings.bound_workspaces).items():
        if spec is not BROADCAST:
            groups[settings.prefix + name] = spec.groups
    return groups


def with_outside_groups(
    plan: Mapping[str, Sequence[str]], settings: Streams, outside: Sequence[OutsideGroup]
) -> dict[str, tuple[str, ...]]:
    """Return the plan with the registered external readers."""
    waited = {stream: tuple(groups) for stream, groups in plan.items()}
    for item in outside:
        stream = settings.prefix + item.stream
        if stream in waited:
            waited[stream] = (*waited[stream], item.name)
    return waited


async def recreate_groups(client: Redis, settings: Streams, outside: Sequence[OutsideGroup]) -> int:
    """Recreate registered external groups that the server lost, at the beginning of their streams; return how many.
    Raises redis-py's errors."""
    made = 0
    for item in outside:
        stream = settings.prefix + item.stream
        if item.name not in await groups_of(client, stream):
            made += int(await scripts.JOIN(client, (stream, retry_states(stream, item.name)), item.name))
            _log.warning("streams.group_remade", stream=stream, group=item.name)
    return made


async def trim(client: Redis, streams: Mapping[str, Sequence[str]], retention_s: float) -> list[Trimmed]:
    """Trim each stream (full name, to its registered groups). Raises redis-py's errors.

    Entries younger than `retention_s` by the server's clock are kept, and those that a registered group has not
    acknowledged.
    """
    oldest = (await server_time(client) // 1000 - round(retention_s * 1000), 0)
    reports = []
    for stream, groups in streams.items():
        if await client.exists(stream):
            reports.append(await _trim_one(client, stream, groups, oldest))
    return reports


async def _trim_one(client: Redis, stream: str, registered: Sequence[str], oldest: Id) -> Trimmed:
    existing = await groups_of(client, stream)
    cut, holder = await removable(client, stream, registered, oldest)
    removed = await remove(client, stream, cut)
    unregistered = tuple(sorted(set(existing) - set(registered)))
    if unregistered:
        _log.warning("streams.groups_unregistered", stream=stream, groups=list(unregistered))
    return Trimmed(stream=stream, removed=removed, held_back_by=holder, unregistered=unregistered)


async def removable(client: Redis, stream: str, registered: Sequence[str], oldest: Id = _ALL) -> tuple[Id, str]:
    """Return the id before which no entry is needed, at most `oldest`, and the group that needs the following ones ('':
    none)."""
    states = await groups_of(client, stream)
    cut, holder = oldest, ""
    for name in registered:
        needed = await _needed(client, stream, states.get(name))
        if needed < cut:
            cut, holder = needed, name
    return cut, holder


async def remove(client: Redis, stream: str, before: Id, most: int | None = None) -> int:
    """Remove entries before this id from the head, in complete blocks, at most `most`; return how many."""
    removed = 0
    while before > (0, 0) and (left := _AT_ONCE if most is None else min(_AT_ONCE, most - removed)) > 0:
        # Without LIMIT one call removes 10,000 at most.
        part = int(await ask(client, "XTRIM", stream, "MINID", "~", f"{before[0]}-{before[1]}", "LIMIT", left))
        if not part:
            break
        removed += part
    return removed


async def _needed(client: Redis, stream: str, group: Mapping[str, Any] | None) -> Id:
    """Return the oldest id that the group still needs; a missing group needs everything."""
    if group is None:
        return (0, 0)
    pending = await client.xpending(stream, group["name"])
    return in_order((pending["min"] or group["last-delivered-id"]).decode())
