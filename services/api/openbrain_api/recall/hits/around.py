"""Turns before and after a hit, in its session."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from openbrain.domain.access.visibility import AllOf, matches
from openbrain.domain.memory import Memory
from openbrain.ports.store.memories import Memories, Turn

TURN_CHARS = 2_000
"""Of one turn; more is behind its id."""
ANSWER_CHARS = 20_000
"""Of all turns around the hits of one question; what lies nearest to the best hits has it first."""


@dataclass(frozen=True, slots=True)
class Around:
    """A question's hits, best first, how many turns are wanted on either side, and what may be seen."""

    hits: Sequence[Memory]
    turns: int
    condition: AllOf


async def read_around(requests: Sequence[Around], memories: Memories, now: int) -> Sequence[Mapping[str, list[Memory]]]:
    """By hit, in the order in which they were said; each turn once in an answer, and none that is a hit itself."""
    turns_read = [await _turns(request, memories) for request in requests]
    chosen = [_beside(request, turns) for request, turns in zip(requests, turns_read, strict=True)]
    wanted = dict.fromkeys(chain.from_iterable(ids for item in chosen for ids in item.values()))
    rows = await memories.rows(list(wanted)) if wanted else {}
    return [
        _within(
            beside, {row.id: row for row in rows.values() if row.alive(now) and matches(request.condition, row)}, turns
        )
        for request, beside, turns in zip(requests, chosen, turns_read, strict=True)
    ]


async def _turns(request: Around, memories: Memories) -> Mapping[str, Turn]:
    ids = [hit.id for hit in request.hits if hit.turn is not None and hit.session_id]
    distances = [distance for distance in range(-request.turns, request.turns + 1) if distance]
    return await memories.turns(ids, request.condition, distances) if ids and distances else {}


def _beside(request: Around, turns: Mapping[str, Turn]) -> Mapping[str, Sequence[str]]:
    """By hit the ids beside it, nearest first."""
    shown = {hit.id for hit in request.hits}
    beside: dict[str, Sequence[str]] = {}
    for hit in request.hits:
        place = turns.get(hit.id)
        if place is None:
            continue
        near = sorted(
            (abs(turn.number - place.number), turn.number, memory_id)
            for memory_id, turn in turns.items()
            if turn.session_id == place.session_id and abs(turn.number - place.number) <= request.turns
        )
        beside[hit.id] = [memory_id for _, _, memory_id in near if memory_id not in shown]
        shown.update(beside[hit.id])
    return beside


def _within(
    beside: Mapping[str, Sequence[str]], rows: Mapping[str, Memory], turns: Mapping[str, Turn]
) -> Mapping[str, list[Memory]]:
    left = ANSWER_CHARS
    shown: dict[str, list[Memory]] = {}
    for hit, row in ((hit, rows[memory_id]) for hit, ids in beside.items() for memory_id in ids if memory_id in rows):
        left -= min(len(row.content), TURN_CHARS)
        if left < 0:
            break
        shown.setdefault(hit, []).append(row)
    return {hit: sorted(rows, key=lambda row: (turns[row.id].number, row.id)) for hit, rows in shown.items()}
