"""Decides whether a memory says all that another says, in nearly the same words.

What must agree and what may differ was determined on purpose-written pairs: see docs/decisions/recall-folds.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from openbrain.domain.memory import DAY, Memory, Scope
from openbrain.domain.text.duplicates.tokens import NEGATIONS, RELATIVE, SECURED, Token, tokens_of

SHARE = 0.8
"""The share of one memory's words that the other must contain in the same order."""
MOST_WORDS = 200
"""The longest differing part that is compared word by word; beyond it two texts count as different."""
TYPO_CHARS = 5


@dataclass(frozen=True, slots=True)
class Wording:
    """Normalised text of a memory, for comparison."""

    about: tuple[object, ...]
    """Equal if two memories can be the same: speaker, title, session, numbers, negations, and the day if the text has
    relative dates."""
    org: str
    projects: tuple[str, bool]
    tokens: tuple[Token, ...]

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """Build from a memory, without filler words."""
        tokens = tuple(tokens_of(memory.content))
        words = {token.text for token in tokens}
        firm = tuple(token.text for token in tokens if token.text in NEGATIONS or not token.text.isalpha())
        day = memory.occurred_at // DAY if words & RELATIVE else None
        session = memory.session_id if memory.turn is not None else ""
        about = memory.speaker, memory.title.casefold(), session, day, firm
        everywhere = not memory.project or memory.memory_scope is Scope.SHARED
        return cls(about, memory.org, (memory.project, everywhere), tokens)


def says_all(shown: Wording, other: Wording) -> bool:
    """True if `shown` says all that `other` says, in nearly the same words."""
    if shown.about != other.about or shown.org != other.org or not _same_project(shown.projects, other.projects):
        return False
    if not SHARE * len(shown.tokens) <= len(other.tokens) <= len(shown.tokens):
        return False
    more, less = _trimmed(shown.tokens, other.tokens)
    if not less:
        return not any(token.exact for token in more)
    return len(more) <= MOST_WORDS and _held_in_order(more, less)


def _same_project(one: tuple[str, bool], other: tuple[str, bool]) -> bool:
    return one[0] == other[0] or one[1] or other[1]


def _trimmed(more: Sequence[Token], less: Sequence[Token]) -> tuple[Sequence[Token], Sequence[Token]]:
    """Remove the common beginning and end."""
    start, most = 0, len(less)
    while start < most and more[start].text == less[start].text:
        start += 1
    end = 0
    while end < most - start and more[-1 - end].text == less[-1 - end].text:
        end += 1
    return more[start : len(more) - end], less[start : most - end]


def _held_in_order(more: Sequence[Token], less: Sequence[Token]) -> bool:
    """True if `less` is a subsequence of `more` and no essential word of `more` is skipped."""
    reachable, skippable = {0}, len(more) - len(less)
    for number, token in enumerate(more, 1):
        step = {at + 1 for at in reachable if at < len(less) and same_word(token, less[at])}
        either = step if token.exact else reachable | step
        # More skipped words than `less` is shorter would leave too few for its rest.
        reachable = {at for at in either if number - at <= skippable}
        if not reachable:
            return False
    return len(less) in reachable


def same_word(one: Token, other: Token) -> bool:
    """True if two tokens are the same word, singular and plural, or differ by a typo."""
    if one.text == other.text:
        return True
    if one.exact or other.exact:
        return False
    short, long = sorted((one.text, other.text), key=len)
    if len(short) >= TYPO_CHARS - 1 and long == f"{short}s":
        return long not in SECURED
    return (
        not (one.spelled or other.spelled)
        and len(short) >= TYPO_CHARS
        and short[:2] == long[:2]
        and _one_edit(short, long)
    )


def _one_edit(short: str, long: str) -> bool:
    """True if they differ by one inserted letter or two swapped letters. A replaced letter is more often another word
    than a typo (`inserted`, `inverted`)."""
    if len(long) - len(short) > 1:
        return False
    at = next((at for at, letter in enumerate(short) if long[at] != letter), len(short))
    if len(long) > len(short):
        return short[at:] == long[at + 1 :]
    return short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
