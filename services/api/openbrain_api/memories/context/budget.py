"""Choose the context items that fit into a budget."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from openbrain.contract.brain.context import ContextItem, Section
from openbrain.domain.text.tokens import estimated_tokens
from openbrain.vault.pages.bodies import clipped
from openbrain_api.memories.context.fenced_text import HEAD_TOKENS, HEADING_TOKENS, written

WHOLE = (Section.ALARMS, Section.HAND_OVER)
"""Sections that may use all remaining tokens. Each other section may use half, so that it leaves some for the next."""


@dataclass(slots=True)
class _Page:
    """The items chosen so far, by index in the list of all, and the tokens and memories that are left."""

    tokens: int
    memories: int
    chosen: set[int] = field(default_factory=set)
    sections: set[Section] = field(default_factory=set)

    def take(self, place: int, item: ContextItem, cost: int, most: int) -> int:
        """Choose an item if it fits into `most` tokens. Return its cost with heading, or 0 if it was not chosen."""
        total = cost + (0 if item.section in self.sections else HEADING_TOKENS)
        if total > min(most, self.tokens) or (item.kind == "memory" and not self.memories):
            return 0
        self.chosen.add(place)
        self.sections.add(item.section)
        self.tokens -= total
        self.memories -= item.kind == "memory"
        return total


def fitted(
    items: Sequence[ContextItem], budget: int, memories: int, page: int
) -> tuple[Sequence[ContextItem], Sequence[ContextItem]]:
    """The items of this page (from 1) in order, and the items for later pages. The text of an item that is too long for
    any page is shortened."""
    room = budget - HEAD_TOKENS
    left = [fit for item in items if (fit := _shortened(item, room - HEADING_TOKENS)) is not None]
    chosen: Sequence[ContextItem] = ()
    for _ in range(page):
        places = _chosen(left, room, memories)
        chosen = [item for place, (item, _) in enumerate(left) if place in places]
        left = [item for place, item in enumerate(left) if place not in places]
    return chosen, [item for item, _ in left]


def _shortened(item: ContextItem, room: int) -> tuple[ContextItem, int] | None:
    """The item and its tokens, at most `room`; None if not even its provenance fits."""
    while (cost := estimated_tokens(f"{written(item)}\n")) > room and len(item.text) > 1:
        chars = max(1, min(len(item.text) - 1, len(item.text) * room // cost))
        item = item.model_copy(update={"text": clipped(item.text, chars), "clipped": True})
    return (item, cost) if cost <= room else None


def _chosen(items: Sequence[tuple[ContextItem, int]], room: int, memories: int) -> set[int]:
    page = _Page(room, memories)
    for section in Section:
        most = page.tokens if section in WHOLE else page.tokens // 2
        for place, (item, cost) in enumerate(items):
            if item.section is section:
                most -= page.take(place, item, cost, most)
    for place, (item, cost) in enumerate(items):
        if place not in page.chosen:
            page.take(place, item, cost, page.tokens)
    return page.chosen
