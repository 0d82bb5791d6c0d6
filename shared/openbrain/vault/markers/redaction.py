"""Redaction of text copied from a transcript into a vault: no credential that can be told by its form, nothing that
acts there as a marker.

This is a net under people who paste keys, not a proof that none is left.
"""

import re
from typing import Final

from openbrain.domain.text.displayed import escaped

REDACTED: Final = "[redacted]"
_KEYS = re.compile(
    r"""
    -----BEGIN[ A-Z]*PRIVATE\ KEY-----.*?(?:-----END[ A-Z]*PRIVATE\ KEY-----|\Z)
    | \b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,} | \b(?:sk|pk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}
    | \bgh[opsur]_[A-Za-z0-9]{16,} | \bgithub_pat_[A-Za-z0-9_]{16,} | \bglpat-[A-Za-z0-9_-]{16,}
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,} | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b | \bAIza[A-Za-z0-9_-]{30,}
    | \b(?:hf|npm|pypi|dop_v1|shpat|ob)_[A-Za-z0-9_-]{20,} | \bpypi-[A-Za-z0-9_-]{20,}
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?
    """,
    re.VERBOSE | re.DOTALL,
)
_LONG = re.compile(r"[A-Za-z0-9_.-]{15}|-----BEGIN")
"""Is in whatever `_KEYS` finds: the shortest is `xoxb-` and ten characters."""
_BEARER = re.compile(r"\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{12,}", re.IGNORECASE)
_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,100}:)[^\s@/]{1,200}(?=@)", re.IGNORECASE)
_NAMED = re.compile(
    r"""((?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,40}[_-]){0,4}
    (?:api[_-]?key|access[_-]?key|secret(?:[_-]?key)?|token|passwo?r?d|passphrase|credentials?)
    ["']?\s*[=:]\s*["']?)(?!\[redacted\])[^\s"',;]{6,}""",
    re.IGNORECASE | re.VERBOSE,
)


_NAMES = ("key", "secret", "token", "passw", "passphrase", "credential")
"""One of which is in whatever `_NAMED` finds."""
_KEPT_NAME = rf"\g<1>{REDACTED}"


def redacted(text: str) -> str:
    """The text with `[redacted]` for each credential that was found."""
    if _LONG.search(text) is not None:
        text = _KEYS.sub(REDACTED, text)
    # Nearly every text has none of what these look for, and is told so for a tenth of what they cost.
    folded = text.casefold()
    for named, words in ((_BEARER, ("bearer", "basic")), (_IN_URL, ("://",)), (_NAMED, _NAMES)):
        if any(word in folded for word in words):
            text = named.sub(_KEPT_NAME, text)
    return text


def quotable(text: str) -> str:
    """Text of somebody else, to stand in a page or before a model: redacted, without what nobody would see, and no
    comment begins in it, so that it can't be taken for a marker. Markdown shows it as it was."""
    shown = escaped(text, lambda _: "")
    if not shown.isprintable():
        shown = "".join(char for char in shown if char in "\n\t" or char.isprintable())
    return redacted(shown).replace("<!--", "&lt;!--")


def quotable_line(text: str, longest: int) -> str:
    """Redact a text, put it on one line and cut it."""
    return quotable(" ".join(text.split()))[:longest].rstrip()


def quotable_title(text: str, longest: int) -> str:
    """Redact a text to one line, cut between words where that loses less than half."""
    line = quotable(" ".join(text.split()))
    space = line.rfind(" ", longest // 2, longest + 1) if len(line) > longest else -1
    return line[: longest if space < 0 else space].rstrip()
