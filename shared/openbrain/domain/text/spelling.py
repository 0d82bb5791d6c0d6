"""Normalises texts, and unifies spellings of names that differ in case, accent encoding or a separator."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from itertools import groupby

_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
"""Soft hyphen, zero-width space, word joiner, byte order mark. Joiners are kept: some scripts and emoji need them."""
_SPACES = dict.fromkeys(
    map(ord, "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"), " "
)
_BLANK_LINES = re.compile(r"\n{4,}")
_BEFORE_BREAK = re.compile(r"(?<![ \t])[ \t]+(?=\n)")
_FENCE = re.compile(r"(?m)^(?:```|~~~)")
_MARKS = re.compile(r"[^\w\s]{32,}")
"""Among them are all long runs of combining marks."""
_SEPARATORS = re.compile(r"[\s_\-./]+")


def normalised_text(text: str) -> str:
    """Unicode NFC, plain spaces, \\n line ends, no invisible characters, no trailing spaces, at most two empty lines in
    a row. A text with a fenced block keeps its lines, because they may matter in code."""
    form = composed(text).replace("\r\n", "\n").replace("\r", "\n")
    form = form.translate(_INVISIBLE).translate(_SPACES)
    if _FENCE.search(form) is None:
        form = _BLANK_LINES.sub("\n\n\n", _BEFORE_BREAK.sub("", form))
    return form.strip("\n").rstrip()


def composed(text: str) -> str:
    """The text in Unicode NFC, as contents are stored."""
    return text if text.isascii() else unicodedata.normalize("NFC", _MARKS.sub(_in_order, text))


def _in_order(marks: re.Match[str]) -> str:
    """Sort combining marks into canonical order. `unicodedata` takes quadratic time: minutes for a long text."""
    apart = "".join(unicodedata.normalize("NFD", sign) for sign in marks[0])
    runs = groupby(apart, lambda sign: unicodedata.combining(sign) > 0)
    return "".join("".join(sorted(run, key=unicodedata.combining) if combining else run) for combining, run in runs)


def spellings(text: str) -> tuple[str, ...]:
    """The text as given, and in NFC and NFD if they differ. For texts and tags that may be stored as given."""
    if text.isascii():
        return (text,)
    return tuple(dict.fromkeys((text, composed(text), unicodedata.normalize("NFD", text))))


def name_key(name: str) -> str:
    """A key shared by all spellings of a name: `K8s` and `k8s`, `data_base` and `Data-Base`."""
    return _SEPARATORS.sub("-", unicodedata.normalize("NFKC", name).casefold()).strip("-")


def one_spelling(counted: Mapping[str, int]) -> dict[str, str]:
    """Map each spelling that should change to the most frequent one. On a tie prefer the lower-case one, then the
    first."""
    spelled: defaultdict[str, list[str]] = defaultdict(list)
    for name in counted:
        spelled[name_key(name)].append(name)
    chosen: dict[str, str] = {}
    for key, names in spelled.items():
        if key and len(names) > 1:
            best = min(names, key=lambda name: (-counted[name], name != name.casefold(), name))
            chosen |= {name: best for name in names if name != best}
    return chosen
