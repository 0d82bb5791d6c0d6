"""Redaction of text copied from a transcript into a vault: credentials recognizable by their form are removed, and
nothing in it acts as a marker.

This is a safety net for pasted keys, no proof that none is left.
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
    """,
    re.VERBOSE | re.DOTALL,
)
_JWT = re.compile(r"\beyJ[A-Za-z0-9_-]{8,}+(\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)?")
"""Without the group it is none: the run before the dot is taken whole, instead of again from each `eyJ` in it."""
_LONG = re.compile(r"[A-Za-z0-9_.-]{15}|-----BEGIN")
"""Matches in all text that `_KEYS` and `_JWT` match; the shortest is `xoxb-` and ten characters."""
_BEARER = re.compile(r"\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{12,}", re.IGNORECASE)
_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,100}:)[^\s@/]{1,200}(?=@)", re.IGNORECASE)
_NAMED = re.compile(
    r"""((?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,40}[_-]){0,4}
    (?:api[_-]?key|access[_-]?key|secret(?:[_-]?key)?|token|passwo?r?d|passphrase|credentials?)
    ["']?\s*[=:]\s*["']?)(?!\[redacted\])[^\s"',;]{6,}""",
    re.IGNORECASE | re.VERBOSE,
)


_NAMES = ("key", "secret", "token", "passw", "passphrase", "credential")
"""Everything that `_NAMED` matches contains one of these."""
_KEPT_NAME = rf"\g<1>{REDACTED}"


def redacted(text: str) -> str:
    """Replace each credential found by `[redacted]`."""
    if _LONG.search(text) is not None:
        text = _KEYS.sub(REDACTED, _JWT.sub(lambda run: REDACTED if run[1] else run[0], text))
    # Nearly every text has no match; these substring tests rule it out for a tenth of the cost of the patterns.
    folded = text.casefold()
    for named, words in ((_BEARER, ("bearer", "basic")), (_IN_URL, ("://",)), (_NAMED, _NAMES)):
        if any(word in folded for word in words):
            text = named.sub(_KEPT_NAME, text)
    return text


def quotable(text: str) -> str:
    """Make foreign text safe for a page or a model: redact it, remove invisible characters, and escape `<!--` so that
    nothing in it is read as a marker. Markdown displays it unchanged."""
    shown = escaped(text, lambda _: "")
    if not shown.isprintable():
        shown = "".join(char for char in shown if char in "\n\t" or char.isprintable())
    return redacted(shown).replace("<!--", "&lt;!--")


def quotable_line(text: str, longest: int) -> str:
    """Redact a text, put it on one line and cut it to `longest` characters."""
    return quotable(" ".join(text.split()))[:longest].rstrip()


def quotable_title(text: str, longest: int) -> str:
    """Redact a text and put it on one line, cut between words if that loses less than half."""
    line = quotable(" ".join(text.split()))
    space = line.rfind(" ", longest // 2, longest + 1) if len(line) > longest else -1
    return line[: longest if space < 0 else space].rstrip()
