"""From what somebody typed to what is looked for. Pure; any text is a query."""

import re

from openbrain.ports.index import TextQuery

PHRASES = 16
"""Quoted phrases of a query; what is quoted beyond them is words."""
_QUOTED = re.compile(
    '"([^"]*)"|\u201c([^\u201d]*)\u201d|\u201e([^\u201c\u201d]*)[\u201c\u201d]|\u00ab([^\u00bb]*)\u00bb'
)


def parsed(text: str, *, phrases: bool, fuzzy: bool) -> TextQuery:
    """Words, and what stands between quotes as phrases; a quote without its other half is no quote."""
    if not phrases:
        return TextQuery(words=text, fuzzy=fuzzy)
    quoted: dict[str, None] = {}

    def take(match: "re.Match[str]") -> str:
        phrase = " ".join("".join(part or "" for part in match.groups()).split())
        if not phrase or phrase in quoted:
            return " "
        if len(quoted) == PHRASES:
            return f" {phrase} "
        quoted[phrase] = None
        return " "

    words = _QUOTED.sub(take, text)
    return TextQuery(words=words.strip(), phrases=tuple(quoted), fuzzy=fuzzy)
