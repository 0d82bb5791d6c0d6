"""A long text in overlapping passages, for an index of words: which part is about a question must not be drowned by
what else stands in it. Independent of any model."""

import re
from math import ceil

WORDS = 100
"""Of a passage: some 130 tokens, which measured better than 180 words and more."""
OVERLAP = 30
"""Words that neighbours share at least, so that a sentence stands whole in one of them."""

# Scripts written without spaces: each sign counts as a word, as in the text indexes.
_IDEOGRAPH = r"\u3005-\u3007\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_IDEOGRAPH}]|[^\W{_IDEOGRAPH}]+")


def passages(text: str) -> tuple[str, ...]:
    """None where the text is one passage by itself. They begin and end with words and are spread evenly."""
    if len(text) < WORDS:
        return ()
    words = [match.span() for match in _WORD.finditer(text)]
    if len(words) <= WORDS:
        return ()
    steps = ceil((len(words) - WORDS) / (WORDS - OVERLAP))
    starts = [place * (len(words) - WORDS) // steps for place in range(steps + 1)]
    return tuple(text[words[start][0] : words[start + WORDS - 1][1]] for start in starts)
