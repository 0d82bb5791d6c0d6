"""Decides from their words whether two memories say the same, so that either can replace the other.

Stricter than folding in recall, where folded memories remain visible: only meaningless words are ignored. But also
wider: synonyms match, and clauses, sentences and lists may be in another order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

from openbrain.domain.memory import DAY, Memory
from openbrain.domain.text.duplicates.canonical import canonical_sentences
from openbrain.domain.text.duplicates.synonyms import canonical
from openbrain.domain.text.duplicates.tokens import RELATIVE, Token
from openbrain.domain.text.duplicates.wording import same_word

MOST_TOKENS: Final = 400
"""Longer texts are compared only in their original order."""
_FRONTED: Final = frozenset(
    map(canonical, "in on at if because before after for to by from under during until unless with as".split())
)
"""First words of clauses that may precede or follow their main clause."""
_RELATIVE: Final = frozenset(map(canonical, RELATIVE))
_JOINED: Final = frozenset(("and", "or"))
Tokens = tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """Normalised text of a memory, for comparison."""

    about: tuple[object, ...]
    """Equal if two memories can say the same: speaker, title, turn in a session, and the day if the text has relative
    dates."""
    sentences: tuple[Tokens, ...]

    @classmethod
    def of(cls, memory: Memory) -> Self:
        sentences = _said_once(canonical_sentences(memory.content))
        relative = any(token.text in _RELATIVE for sentence in sentences for token in sentence)
        day = memory.occurred_at // DAY if relative else None
        turn = None if memory.turn is None else (memory.session_id, memory.turn)
        return cls((memory.speaker, memory.title.casefold(), turn, day), sentences)


def _said_once(sentences: Sequence[Tokens]) -> tuple[Tokens, ...]:
    """Remove sentences that repeat another one or its beginning."""
    lengths = {len(sentence) for sentence in sentences}
    beginnings = {sentence[:length] for sentence in sentences for length in lengths if length < len(sentence)}
    return tuple(dict.fromkeys(sentence for sentence in sentences if sentence not in beginnings))


def says_same(one: Claim, other: Claim) -> bool:
    """Symmetric. A text without words says the same as nothing."""
    if one.about != other.about or not one.sentences or not other.sentences:
        return False
    whole, whole_other = _joined(one), _joined(other)
    return _alike(whole, whole_other) or (
        len(one.sentences) == len(other.sentences)
        and len(whole) <= MOST_TOKENS
        and _sentences_alike(one.sentences, other.sentences)
    )


def _joined(claim: Claim) -> Tokens:
    return tuple(token for sentence in claim.sentences for token in sentence)


def _sentences_alike(some: Sequence[Tokens], others: Sequence[Tokens]) -> bool:
    left = list(others)
    for sentence in some:
        alike = next((item for item in left if same_sentence(sentence, item)), None)
        if alike is None:
            return False
        left.remove(alike)
    return True


def same_sentence(one: Tokens, other: Tokens) -> bool:
    orders = (one, *_turned(one)), _turned(other)
    return any(_alike(order, other) or _same_list(order, other) for order in orders[0]) or any(
        _alike(order, one) or _same_list(order, one) for order in orders[1]
    )


def sketch(sentence: Tokens) -> tuple[str, ...]:
    """Equal for sentences that are the same, so that few must be compared: how their words begin, in no order. A word
    in singular, in plural or with a typo begins with the same two letters, a number has no typos, and active and
    passive differ by one `by`."""
    words = (token.text for token in sentence if token.text != "by")
    return tuple(sorted(word if any(map(str.isdecimal, word)) else word[:2] for word in words))


def _alike(one: Sequence[Token], other: Sequence[Token]) -> bool:
    return len(one) == len(other) and all(map(same_word, one, other))


def _turned(sentence: Tokens) -> Iterator[Tokens]:
    """Reorderings: an initial clause moved to the end, and passive turned into active."""
    if sentence[0].text in _FRONTED:
        for cut in range(2, len(sentence)):
            yield sentence[cut:] + sentence[:cut]
    for at, token in enumerate(sentence[2:-1], start=2):
        if token.text == "by":
            yield sentence[at + 1 :] + sentence[at - 1 : at] + sentence[: at - 1]


def _same_list(one: Tokens, other: Tokens) -> bool:
    """True if they differ only in the order of a list without numbers."""
    if len(one) != len(other):
        return False
    start = next((at for at, pair in enumerate(zip(one, other, strict=True)) if pair[0].text != pair[1].text), None)
    if start is None:
        return False
    end = next(at for at in range(1, len(one) + 1) if one[-at].text != other[-at].text) - 1
    lists = [_items(item[start : len(item) - end]) for item in (one, other)]
    return not lists[0].isdisjoint(lists[1])


def _items(tokens: Tokens) -> frozenset[tuple[str, tuple[tuple[str, ...], ...]]]:
    """The possible readings of a list, its join and its items independent of order: two items for `a b and c d`, also
    three for `a b and c`, because commas are lost. Empty if there are several joins, or a number, which may make the
    order significant."""
    words = tuple(token.text for token in tokens)
    joins = [at for at, word in enumerate(words) if word in _JOINED]
    if len(joins) != 1 or any(any(letter.isdigit() for letter in word) for word in words):
        return frozenset()
    before, last = words[: joins[0]], words[joins[0] + 1 :]
    ways = {tuple(sorted((before, last)))}
    if len(last) == 1:
        ways.add(tuple(sorted((word,) for word in (*before, *last))))
    return frozenset((words[joins[0]], way) for way in ways)
