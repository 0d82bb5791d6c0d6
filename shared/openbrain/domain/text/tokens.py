"""How many tokens a text takes at most, for a budget that must hold whichever model reads it.

No tokenizer is asked: each model has its own. A run of letters counts one token for each four of them begun, digits for
each two, any other visible ASCII character and each line end one, and what is beyond ASCII its bytes in UTF-8 less one.
English prose is so counted about half as much again as byte pair encodings of today take; ids and code a little more.
"""

import re

_PARTS = re.compile(r"([A-Za-z]+)|([0-9]+)|(\n+)|([!-~])|([^\x00-\x7f])")


def estimated_tokens(text: str) -> int:
    """An upper estimate; 0 of nothing."""
    count = 0
    for letters, digits, breaks, mark, other in _PARTS.findall(text):
        if letters:
            count += -(-len(letters) // 4)
        elif digits:
            count += -(-len(digits) // 2)
        elif breaks or mark:
            count += 1
        else:
            count += len(other.encode("utf-8", "replace")) - 1
    return count
