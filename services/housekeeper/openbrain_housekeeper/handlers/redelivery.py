"""Operations on streams: replay entries, replay or discard dead letters, bury an entry. Steps are idempotent."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import orjson

from openbrain.domain.errors import NotFound
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.index_entries import IndexMarks
from openbrain.ports.store.operations import Operation, Progress
from openbrain.ports.streams import (
    BURIED,
    BURY,
    DEAD_DISCARD,
    DEAD_REPLAY,
    REPLAY,
    Burial,
    DeadFilter,
    DeadLetter,
    Revival,
    StreamRedelivery,
)
from openbrain_housekeeper.jobs.operations import WAITS_FOR, Step

AT_ONCE = 100
CURSOR = "cursor"
"""Member of a result: the position after which the next step continues."""
UNTIL = "until"
"""Member of a result: dead letters from this time on, by the stream server's clock, are not part of the operation."""
NOTED = {"indexer-text": IndexKind.TEXT, "indexer-vector": IndexKind.VECTOR, "embedder": IndexKind.VECTOR}
"""Groups whose dead letters are recorded as failures on the memory's row."""
Sleep = Callable[[float], Awaitable[object]]


def steps(streams: StreamRedelivery, index_marks: IndexMarks, sleep: Sleep = asyncio.sleep) -> dict[str, Step]:
    """The step of each kind of operation."""
    return {
        REPLAY: Replaying(streams, sleep),
        DEAD_REPLAY: Sorting(streams, sleep, lambda letters: _revive(streams, index_marks, letters)),
        DEAD_DISCARD: Sorting(streams, sleep, lambda letters: _discard(streams, letters)),
        BURY: Burying(streams, index_marks),
    }


class Replaying:
    """Hands over the entries of a stream between two ids to each group, through a separate stream per group."""

    def __init__(self, streams: StreamRedelivery, sleep: Sleep) -> None:
        self._streams, self._sleep = streams, sleep

    async def __call__(self, operation: Operation) -> Progress:
        """`done` counts the entries that the groups have settled."""
        request = operation.request
        groups: dict[str, dict[str, Any]] = dict(operation.result.get("groups", {}))
        moved = waiting = 0
        for group in request["groups"]:
            state = groups.get(group, {"handed": 0, CURSOR: None, "more": True})
            if state["more"]:
                start = f"({state[CURSOR]}" if state[CURSOR] else request["from"]
                most = _most(request["rate"])
                step = await self._streams.hand_over(request["stream"], group, start, request["to"], most)
                handed = state["handed"] + step.entries
                groups[group] = {"handed": handed, CURSOR: step.last_id or state[CURSOR], "more": step.more}
                moved, waiting = moved + step.entries, waiting + step.waiting
            else:
                waiting += await self._streams.unsettled(request["stream"], group)
        if moved and request["rate"]:
            await self._sleep(moved / request["rate"])
        more = any(state["more"] for state in groups.values())
        handed = sum(state["handed"] for state in groups.values())
        done = max(operation.done, handed - waiting)
        result: dict[str, Any] = {"groups": groups}
        if not moved and waiting:
            result[WAITS_FOR] = f"{waiting} entries are not settled yet: live entries go first, and a group may rest"
        total = max(operation.total or 0, handed) if more else handed
        finished = not more and not waiting
        return Progress(done=done, total=total, result=result, finished=finished, waits=not moved and not finished)


Act = Callable[[Sequence[DeadLetter]], Awaitable[Mapping[str, int]]]


class Sorting:
    """Goes through the selected dead letters: those named, or those that a filter matches."""

    def __init__(self, streams: StreamRedelivery, sleep: Sleep, act: Act) -> None:
        self._streams, self._sleep, self._act = streams, sleep, act

    async def __call__(self, operation: Operation) -> Progress:
        """`done` counts the letters looked at; the result counts what was done with them."""
        request, result = operation.request, dict(operation.result)
        most = min(AT_ONCE, _most(request["rate"]))
        if request["letters"]:
            index = int(result.get(CURSOR, 0))
            letters: Sequence[DeadLetter] = await self._streams.letters(request["letters"][index : index + most])
            result[CURSOR] = index + most
            more, seen = index + most < len(request["letters"]), min(index + most, len(request["letters"])) - index
        else:
            result.setdefault(UNTIL, min(request["until"] or 2**60, await self._streams.now() + 1))
            wanted = {name: request[name] for name in ("stream", "group", "error", "since")}
            filter_ = DeadFilter(**wanted, until=result[UNTIL])
            letters, after = await self._streams.dead(filter_, most, result.get(CURSOR, ""))
            more, seen = after is not None, len(letters)
            result[CURSOR] = after
        counts = await self._act(letters) if letters else {}
        for name, number in counts.items():
            result[name] = result.get(name, 0) + number
        if letters and request["rate"] and more:
            await self._sleep(len(letters) / request["rate"])
        done = operation.done + seen
        total = max(operation.total or 0, done) if more else done
        if not more:
            result = {name: value for name, value in result.items() if name not in (CURSOR, UNTIL)}
        return Progress(done=done, total=total, result=result, finished=not more)


class Burying:
    """Moves one entry to the dead letters, whichever consumer has it."""

    def __init__(self, streams: StreamRedelivery, index_marks: IndexMarks) -> None:
        self._streams, self._index_marks = streams, index_marks

    async def __call__(self, operation: Operation) -> Progress:
        """`NotFound` if the entry is not pending in the group."""
        request = operation.request
        stream, group, entry = request["stream"], request["group"], request["entry"]
        body = await self._streams.body(stream, entry)
        why = f"{operation.actor}: {request['reason']}"
        done = await self._streams.bury(stream, group, entry, why)
        if done is Burial.NOT_IN_HAND:
            raise NotFound(f"{group} does not hold this entry: it was not delivered yet, or it is done")
        memory_id = _memory(body or b"")
        if done is Burial.BURIED and group in NOTED and memory_id:
            await self._index_marks.record_failure(NOTED[group], memory_id, f"{BURIED}: {why}")
        return Progress(done=1, total=1, result={"became": done.name.lower()}, finished=True)


async def _revive(
    streams: StreamRedelivery, index_marks: IndexMarks, letters: Sequence[DeadLetter]
) -> Mapping[str, int]:
    noted: defaultdict[IndexKind, list[str]] = defaultdict(list)
    for letter in letters:
        memory_id = _memory(letter.fields.get("__data__", "").encode())
        if letter.group in NOTED and memory_id:
            noted[NOTED[letter.group]].append(memory_id)
    # Clear first, so that a failure of the new delivery is not cleared.
    for kind, ids in noted.items():
        await index_marks.clear_failures(kind, sorted(set(ids)))
    done = await streams.revive([letter.id for letter in letters])
    return {kind.value: done.count(kind) for kind in Revival if kind in done}


async def _discard(streams: StreamRedelivery, letters: Sequence[DeadLetter]) -> Mapping[str, int]:
    return {"discarded": await streams.discard([letter.id for letter in letters])}


def _most(rate: int | None) -> int:
    """Entries per step: what the rate allows in a quarter of a second."""
    return max(1, rate // 4) if rate else 1_000_000


def _memory(body: bytes) -> str:
    """The memory id of an event; '' if the body is not an event about a memory."""
    try:
        memory_id = orjson.loads(body)["data"]["memory_id"]
    except (ValueError, TypeError, KeyError):
        return ""
    return memory_id if isinstance(memory_id, str) else ""
