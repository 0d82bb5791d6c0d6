"""The words and signs of a text, and which of them are essential."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MOST_CHARS = 20_000
"""A longer text becomes a single token."""
_TOKEN = re.compile(
    r"(?:(?<![\w)])[-\u2212])?\d+(?:[.,:/-]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|(?<=[A-Za-z])#|[<>=\u2260\u2264\u2265%$\u20ac\u00a3+?]"
)
_SENTENCE = re.compile(r"(?:^|[.!?:;\n])\W*$")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
FILLERS = frozenset(
    "a an the please also just note notes reminder remember fyi btw so well really very actually".split()
)
NEGATIONS = frozenset("not no never none nor neither nothing nobody without cannot hardly stop stopped".split())
_QUALIFIERS = frozenset(
    """only except unless until till if but maybe perhaps possibly probably formerly previously once sometimes should
    must may might could would will was were had used instead almost some all every any each both before after or
    rarely often always""".split()
)
RELATIVE = frozenset("today yesterday tomorrow tonight recently ago last next weekend".split())
SECURED = frozenset("amqps ftps https imaps ldaps mqtts rediss smtps".split())
"""No plurals: other protocols than without the `s`."""
_CONTRACTED = {"cannot": ("can", "not"), "can't": ("can", "not"), "won't": ("will", "not")}
_ENDINGS = {"ll": ("will",), "d": ("would",), "ve": ("have",), "re": ("are",), "m": ("am",)}


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a sign."""

    text: str
    exact: bool
    """True if essential: a number, a negation, a name, or a word that limits or dates a claim."""
    spelled: bool
    """True if the spelling must agree exactly. Includes capitalised words at the beginning of a sentence, which may be
    names."""


def tokens_of(content: str) -> Sequence[Token]:
    if len(content) > MOST_CHARS:
        return (Token(" ".join(content.casefold().split()), exact=True, spelled=True),)
    text = _THOUSANDS.sub("", content.replace("\u2019", "'"))
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        for word in _parts(match[0]):
            folded = word.casefold()
            if folded in FILLERS:
                continue
            capital = word not in (folded, "I")
            named = capital and not _SENTENCE.search(text, max(0, match.start() - 8), match.start())
            firm = not folded.isalpha() or folded in NEGATIONS or folded in _QUALIFIERS
            tokens.append(Token(folded, exact=firm or named, spelled=capital or firm))
    return tokens


def _parts(word: str) -> Sequence[str]:
    """Split `don't` and `cannot` into two words; drop a possessive ending."""
    if word.casefold() in _CONTRACTED:
        return _CONTRACTED[word.casefold()]
    if word.casefold().endswith("n't"):
        return (word[:-3], "not")
    stem, _, ending = word.partition("'")
    return (stem, *_ENDINGS.get(ending.casefold(), ()))
