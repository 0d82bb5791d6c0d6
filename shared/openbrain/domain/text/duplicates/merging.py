"""Merge several texts without losing any statement, and check whether a model's merged text is acceptable."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from openbrain.domain.text.duplicates.canonical import canonical_sentences
from openbrain.domain.text.duplicates.sameness import Tokens, same_sentence, sketch
from openbrain.domain.text.duplicates.synonyms import WEAK
from openbrain.domain.text.tokens import FUNCTION_WORDS

LONGER: Final = 1.5
_END = re.compile(r"(?<=[.!?])\s+|\n+")
_BLOCK = re.compile(r"^[^\S\n]*(?:```|~~~|\|)", re.MULTILINE)
_CAPITAL = re.compile(r"\b[^\W\d_]\w*")


def merged(texts: Sequence[str]) -> str:
    """Return the first text, followed by the statements of the others that it lacks, one per line. Pass the newest
    first: of two equal statements, the first wording is kept."""
    first, *others = texts
    covered = _Covered()
    covered.add([tokens for part in _parts(first) for tokens in canonical_sentences(part)])
    added: list[str] = []
    for text in others:
        for part in _parts(text):
            new = [tokens for tokens in canonical_sentences(part) if tokens not in covered]
            if new:
                added.append(part.strip())
                covered.add(new)
    return "\n".join((first.rstrip(), *added)) if added else first


def _parts(text: str) -> Sequence[str]:
    """Split into sentences and lines; a text with code or a table is one part."""
    return [text] if _BLOCK.search(text) else [part for part in _END.split(text) if part.strip()]


class _Covered:
    """Sentences, and whether another says the same as one of them."""

    def __init__(self) -> None:
        self._sentences: defaultdict[tuple[str, ...], list[Tokens]] = defaultdict(list)

    def add(self, sentences: Sequence[Tokens]) -> None:
        for tokens in sentences:
            self._sentences[sketch(tokens)].append(tokens)

    def __contains__(self, tokens: Tokens) -> bool:
        return any(same_sentence(tokens, item) for item in self._sentences.get(sketch(tokens), ()))


def holds_to(text: str, sources: Sequence[str]) -> bool:
    """True if every number, date and name of the text occurs in a source, and the text is at most LONGER times as long
    as the sources together. Any capitalised word may be a name."""
    known = {token.text for source in sources for tokens in canonical_sentences(source) for token in tokens}
    words = {word.casefold() for source in sources for word in _CAPITAL.findall(source)}
    exact = (token.text for tokens in canonical_sentences(text) for token in tokens if not token.text.isalpha())
    names = (word.casefold() for word in _CAPITAL.findall(text) if word != word.casefold())
    return (
        0 < len(text.strip()) <= LONGER * sum(map(len, sources))
        and known.issuperset(exact)
        and all(name in words or name in FUNCTION_WORDS or name in WEAK for name in names)
    )
