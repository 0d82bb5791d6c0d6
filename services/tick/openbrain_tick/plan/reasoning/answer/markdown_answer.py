"""The older form of an answer: sections `### 1.` to `### 6.`, one item per line. Unreadable lines are reported."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from openbrain_tick.plan.reasoning.answer.items import Answer, Refused, from_items

_HEADING = re.compile(r"^#{1,6}\s*([1-6])\s*[.)]")
_BULLET = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
_ARROW = r"\s*(?:→|->|=>)\s*"
_DASH = r"\s+(?:\u2014|\u2013|-{1,2})\s+"
_EDGE = re.compile(rf"^(?P<source>\S+)\s*--\s*(?P<type>[\w-]+?)\s*-->\s*(?P<target>\S+?)(?:{_DASH}(?P<reason>.+))?$")
_MERGE = re.compile(rf"^MERGE:\s*(?P<keep>\S+)\s*\+\s*(?P<absorb>\S+?){_ARROW}(?P<title>.+)$")
_SPLIT = re.compile(rf"^SPLIT:\s*(\S+?){_ARROW}(.+)$")
_ESCALATE = re.compile(rf"^ESCALATE:\s*(?P<source>\S+?){_ARROW}(?P<severity>\w+)\s*(?:\((?P<reason>.*)\))?$")
_CLEAR = re.compile(r"^CLEAR:\s*(?P<source>\S+)\s*(?:\((?P<reason>.*)\))?$")
_HEALTH = re.compile(
    r"^(?:[a-z][a-z ]{0,40}[:=]?\s+)?(?P<score>\d{1,2})\s*/\s*10(?!\d)[\s\u2014\u2013:.,;-]*(?P<reason>.*)$",
    re.IGNORECASE | re.ASCII,
)
_SUMMARY = re.compile(r"^SUMMARY:\s*(?P<arc>[^\s|]+)\s*\|\s*(?P<text>.+)$")
LINE_CHARS = 4000
_NOTHING = {"", "none", "nothing", "n/a", "no changes", "skip", "-"}

Items = tuple[str, dict[str, Any]]
"""The list that an item belongs to, and its fields."""


def from_markdown(text: str) -> Answer | None:
    """Parse an answer; None if the text has none of the sections."""
    sections: dict[str, list[object]] = {}
    refused: list[Refused] = []
    prose: list[str] = []
    section = 0
    for number, raw in enumerate(text.splitlines(), 1):
        heading = _HEADING.match(raw.strip())
        if heading:
            section = int(heading.group(1))
            if section == 5 and (item := _health(_plain(raw.strip()[heading.end() :]))) is not None:
                sections.setdefault(item[0], []).append(item[1])
            continue
        line = _plain(raw)
        if not section or line.lower().rstrip(".") in _NOTHING:
            continue
        if section == 4:
            prose.append(line)
            continue
        item = _READERS[section](line) if len(line) <= LINE_CHARS else None
        if item is None:
            refused.append(Refused(f"line {number}", f"is not in the form of section {section}"))
        else:
            sections.setdefault(item[0], []).append(item[1])
    if not section:
        return None
    items: dict[str, object] = {**sections}
    if prose:
        items["intent"] = {"text": " ".join(prose)}
    if "health" in sections:
        items["health"] = sections["health"][0]
    return from_items(items, tuple(refused))


def _plain(raw: str) -> str:
    line = _BULLET.sub("", raw.strip()).replace("`", "").replace("**", "")
    return line.strip()


def _read(name: str, form: re.Pattern[str], line: str) -> Items | None:
    match = form.match(line)
    return match and (name, _fields(match))


def _merge(line: str) -> Items | None:
    merge = _read("merges", _MERGE, line)
    split = _SPLIT.match(line)
    if merge or split is None:
        return merge
    parts = [{"title": item.strip()} for item in re.split(r"\s\+\s", split.group(2))]
    return "splits", {"arc": split.group(1), "into": parts}


def _signal(line: str) -> Items | None:
    for op, form in (("escalate", _ESCALATE), ("clear", _CLEAR)):
        if match := form.match(line):
            fields = _fields(match)
            # `source`, or `source#hash` if several signals have the same source.
            source, _, digest = fields["source"].partition("#")
            signal = f"{source}:{digest}" if digest else None
            return "signals", {**fields, "op": op, "source": source, "signal": signal}
    return None


def _health(line: str) -> Items | None:
    match = _HEALTH.match(line)
    return match and ("health", {"score": int(match["score"]), "reason": match["reason"]})


def _fields(match: re.Match[str]) -> dict[str, Any]:
    return {name: value.strip() for name, value in match.groupdict().items() if value is not None}


_READERS: Mapping[int, Callable[[str], Items | None]] = {
    1: partial(_read, "edges", _EDGE),
    2: _merge,
    3: _signal,
    5: _health,
    6: partial(_read, "summaries", _SUMMARY),
}
