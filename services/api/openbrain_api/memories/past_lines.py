"""Lines of a memory's history, without what a viewer could not see at the time."""

from collections.abc import Sequence
from dataclasses import replace

from openbrain.domain.access.visibility import DECIDING, Viewer
from openbrain.domain.memory import Memory, with_earlier
from openbrain.ports.store.memories import HistoryEntry, Memories
from openbrain_api.memories.chains import may_see

_MOVES = 1000


async def seen_lines(
    lines: Sequence[HistoryEntry], memory: Memory, viewer: Viewer, memories: Memories
) -> Sequence[HistoryEntry]:
    """Return the lines. Of times at which the memory was in an org, or another agent's alone, that the viewer does not
    see, they keep only who did what when: an edit before it was moved may have removed what was not for everyone."""
    moves = await _moves(lines, memory.id, memories)
    shown: list[HistoryEntry] = []
    for line in reversed(lines):
        while moves and moves[-1].number > line.number:
            memory = _undone(memory, moves.pop())
        after = may_see(viewer, memory)
        if moves and moves[-1].number == line.number:
            memory = _undone(memory, moves.pop())
        before = may_see(viewer, memory)
        if not (before and after):
            line = replace(line, before=line.before if before else None, after=line.after if after else None, reason="")  # noqa: PLW2901
        shown.append(line)
    return shown[::-1]


async def _moves(lines: Sequence[HistoryEntry], memory_id: str, memories: Memories) -> list[HistoryEntry]:
    """The moves of the memory from the first of these lines on, oldest first."""
    moves: list[HistoryEntry] = []
    last = lines[0].number - 1 if lines else None
    while last is not None:
        page = await memories.history(memory_id, _MOVES, last, moves=True)
        moves += page
        last = page[-1].number if len(page) == _MOVES else None
    return moves


def _undone(memory: Memory, move: HistoryEntry) -> Memory:
    return with_earlier(memory, {name: value for name, value in (move.before or {}).items() if name in DECIDING})
