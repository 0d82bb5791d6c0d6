"""Joins the use counts and names of several memories for the one that replaces them."""

from collections.abc import Sequence

from openbrain.domain.limits import ALIASES, TAGS
from openbrain.domain.memory import Memory
from openbrain.ports.lifecycle import Subject, Use


def joined_use(subjects: Sequence[Subject]) -> Use:
    """Sum of recalls and feedback of all; the latest recall."""
    uses = [subject.use for subject in subjects]
    recalled = [use.last_recalled_at for use in uses if use.last_recalled_at is not None]
    return Use(
        recalls=sum(use.recalls for use in uses),
        last_recalled_at=max(recalled, default=None),
        used=sum(use.used for use in uses),
        ignored=sum(use.ignored for use in uses),
    )


def joined_names(first: Memory, others: Sequence[Memory]) -> Memory:
    """The first memory with the tags and aliases of all, its own first, and the latest confirmation of any."""
    memories = (first, *others)
    return first._replace(
        tags=tuple(dict.fromkeys(tag for memory in memories for tag in memory.tags))[:TAGS],
        aliases=tuple(dict.fromkeys(alias for memory in memories for alias in memory.aliases))[:ALIASES],
        confirmed_at=max(memory.confirmed_at for memory in memories),
    )
