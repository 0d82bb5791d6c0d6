"""Memories that say nothing which one before them does not say: near-equal ones, folded into it.

What must agree, and what may differ, was decided on pairs written for this: see docs/decisions/recall-folds.md.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Self

from openbrain.domain.memory import DAY, Memory, Scope
from openbrain_api.recall.order import RankedMemory

SHARE = 0.8
"""So much at least of the words of one must be held, in the same order, by the other."""
MOST_WORDS = 200
"""Where two texts differ in a longer part they are not compared word by word: they are different."""
MOST_CHARS = 20_000
"""A longer text is compared as a whole."""
TYPO_CHARS = 5
_TOKEN = re.compile(
    r"(?:(?<![\w)])[-\u2212])?\d+(?:[.,:/-]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|[<>=\u2260\u2264\u2265%$\u20ac\u00a3+?]"
)
_SENTENCE = re.compile(r"(?:^|[.!?:;\n])\W*$")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_FILLERS = frozenset(
    "a an the please also just note notes reminder remember fyi btw so well really very actually".split()
)
_NEGATIONS = frozenset("not no never none nor neither nothing nobody without cannot hardly stop stopped".split())
_QUALIFIERS = frozenset(
    """only except unless until till if but maybe perhaps possibly probably formerly previously once sometimes should
    must may might could would will was were had used instead almost some all every any each both before after or
    rarely often always""".split()
)
_RELATIVE = frozenset("today yesterday tomorrow tonight recently ago last next weekend".split())
_CONTRACTED = {"cannot": ("can", "not"), "can't": ("can", "not"), "won't": ("will", "not")}
_ENDINGS = {"ll": ("will",), "d": ("would",), "ve": ("have",), "re": ("are",), "m": ("am",)}


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a sign."""

    text: str
    exact: bool
    """Whether it can't be left out: a number, a negation, a name, what limits or dates a claim."""
    spelled: bool
    """Whether its spelling must agree; a capital at the beginning of a sentence may be that of a name."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What a memory says, in the form in which it is compared."""

    about: tuple[object, ...]
    """Equal where two can be the same: speaker, title, session, numbers, negations, and the day where the words hang on
    it."""
    org: str
    projects: tuple[str, bool]
    tokens: tuple[Token, ...]

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """Fillers are left out."""
        tokens = tuple(_tokens(memory.content))
        words = {token.text for token in tokens}
        firm = tuple(token.text for token in tokens if token.text in _NEGATIONS or not token.text.isalpha())
        day = memory.occurred_at // DAY if words & _RELATIVE else None
        session = memory.session_id if memory.turn is not None else ""
        about = memory.speaker, memory.title.casefold(), session, day, firm
        everywhere = not memory.project or memory.memory_scope is Scope.SHARED
        return cls(about, memory.org, (memory.project, everywhere), tokens)


def _tokens(content: str) -> Sequence[Token]:
    if len(content) > MOST_CHARS:
        return (Token(" ".join(content.casefold().split()), exact=True, spelled=True),)
    text = _THOUSANDS.sub("", content.replace("\u2019", "'"))
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        for word in _parts(match[0]):
            folded = word.casefold()
            if folded in _FILLERS:
                continue
            capital = word not in (folded, "I")
            named = capital and not _SENTENCE.search(text, max(0, match.start() - 8), match.start())
            firm = not folded.isalpha() or folded in _NEGATIONS or folded in _QUALIFIERS
            found.append(Token(folded, exact=firm or named, spelled=capital or firm))
    return found


def _parts(word: str) -> Sequence[str]:
    """`don't` and `cannot` as two words; without a possessive ending."""
    if word.casefold() in _CONTRACTED:
        return _CONTRACTED[word.casefold()]
    if word.casefold().endswith("n't"):
        return (word[:-3], "not")
    stem, _, ending = word.partition("'")
    return (stem, *_ENDINGS.get(ending.casefold(), ()))


def says_all(shown: Wording, other: Wording) -> bool:
    """Whether `shown` says all that `other` does, in nearly the same words."""
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
    """Without what is the same at the beginning and at the end."""
    start, most = 0, len(less)
    while start < most and more[start].text == less[start].text:
        start += 1
    end = 0
    while end < most - start and more[-1 - end].text == less[-1 - end].text:
        end += 1
    return more[start : len(more) - end], less[start : most - end]


def _held_in_order(more: Sequence[Token], less: Sequence[Token]) -> bool:
    """Whether each of `less` stands in `more`, one after the other, with nothing between that must agree."""
    reachable = {0}
    for token in more:
        step = {at + 1 for at in reachable if at < len(less) and _same(token, less[at])}
        reachable = step if token.exact else reachable | step
        if not reachable:
            return False
    return len(less) in reachable


def _same(one: Token, other: Token) -> bool:
    """The same word, its plural, or one with a typo."""
    if one.text == other.text:
        return True
    if one.exact or other.exact:
        return False
    short, long = sorted((one.text, other.text), key=len)
    if len(short) >= TYPO_CHARS - 1 and long == f"{short}s":
        return True
    return (
        not (one.spelled or other.spelled)
        and len(short) >= TYPO_CHARS
        and short[:2] == long[:2]
        and _one_edit(short, long)
    )


def _one_edit(short: str, long: str) -> bool:
    """Whether one letter more, another one, or two that changed places make them the same."""
    if len(long) - len(short) > 1:
        return False
    at = next((at for at, letter in enumerate(short) if long[at] != letter), len(short))
    if len(long) > len(short):
        return short[at:] == long[at + 1 :]
    swapped = short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    return swapped or short[at + 1 :] == long[at + 1 :]


class Folding:
    """Folds; what was read of a memory once is kept."""

    def __init__(self) -> None:
        self._known: dict[str, Wording] = {}

    def fold(self, hits: Sequence[RankedMemory]) -> list[RankedMemory]:
        """Those that say something new, in the same order, each with the ids of those that don't."""
        shown: list[str] = []
        by_subject: defaultdict[object, list[str]] = defaultdict(list)
        echoes: defaultdict[str, list[str]] = defaultdict(list)
        for hit in hits:
            wording = self._wording(hit.memory)
            leaders = by_subject[wording.about]
            leader = next((each for each in leaders if says_all(self._known[each], wording)), None)
            if leader is None:
                leaders.append(hit.memory.id)
                shown.append(hit.memory.id)
            else:
                echoes[leader].append(hit.memory.id)
        return _shown(hits, frozenset(shown), echoes)

    def _wording(self, memory: Memory) -> Wording:
        if memory.id not in self._known:
            self._known[memory.id] = Wording.of(memory)
        return self._known[memory.id]


def _shown(
    hits: Sequence[RankedMemory], shown: Collection[str], echoes: defaultdict[str, list[str]]
) -> list[RankedMemory]:
    return [
        replace(hit, folded=tuple(echoes[hit.memory.id])) if hit.memory.id in echoes else hit
        for hit in hits
        if hit.memory.id in shown
    ]
