"""Turns before and after a hit, in its session."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from openbrain.domain.access.visibility import AllOf, matches
from openbrain.domain.memory import Memory
from openbrain.ports.store.memories import Memories, Turn

TURN_CHARS = 2_000
"""Most characters of one turn; the full text can be read by its id."""
ANSWER_CHARS = 20_000
"""Most characters of all turns around the hits of one question. The best hits, and their nearest turns, come first."""


@dataclass(frozen=True, slots=True)
class Around:
    """A question's hits, best first, the number of turns wanted on each side, and the visibility condition."""

    hits: Sequence[Memory]
    turns: int
    condition: AllOf


async def read_around(requests: Sequence[Around], memories: Memories, now: int) -> Sequence[Mapping[str, list[Memory]]]:
    """The turns around each hit, in the session's order. Each turn occurs once per answer, and no hit among them."""
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
    """The ids of the turns around each hit, nearest first."""
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
