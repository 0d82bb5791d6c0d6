"""The older form of an answer: sections `### 1.` to `### 6.`, one item per line. Unreadable lines are reported."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from openbrain_tick.plan.reasoning.answer.items import Answer, Refused, from_items

_HEADING = re.compile(r"^#{1,6}\s*([1-6])\s*[.)]")
_BULLET = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
_SIGN = r"(?:→|->|=>)"
_ARROW = rf"\s*{_SIGN}\s*"
_TYPE = re.compile(r"[\w-]+")
_TARGET = re.compile(r"(?P<target>\S+)(?:\s+(?:\u2014|\u2013|-{1,2})\s+(?P<reason>.+))?")
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


def _edge(line: str) -> Items | None:
    # In parts: one pattern for all of it would try each dash of a long line as the end of the source and of the type.
    left, _, right = line.partition("-->")
    source, kind = _two(left, "--")
    target = _TARGET.fullmatch(right.strip())
    if target is None or not _is_name(source) or not _TYPE.fullmatch(kind):
        return None
    return "edges", {"source": source, "type": kind, **_fields(target)}


def _two(text: str, sign: str) -> tuple[str, str]:
    """Split at the sign that follows the first word, or else at the last one."""
    first, *rest = text.split(maxsplit=1) or [""]
    if rest and rest[0].startswith(sign):
        return first, rest[0].removeprefix(sign).strip()
    before, _, after = text.rpartition(sign)
    return before.strip(), after.strip()


def _is_name(text: str) -> bool:
    return text.split() == [text]


def _merge(line: str) -> Items | None:
    arcs, *title = re.split(_SIGN, line, maxsplit=1)
    if arcs.startswith("MERGE:") and title and title[0].strip():
        keep, absorb = _two(arcs.removeprefix("MERGE:"), "+")
        if _is_name(keep) and _is_name(absorb):
            return "merges", {"keep": keep, "absorb": absorb, "title": title[0].strip()}
    split = _SPLIT.match(line)
    if split is None:
        return None
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
    1: _edge,
    2: _merge,
    3: _signal,
    5: _health,
    6: partial(_read, "summaries", _SUMMARY),
}
