"""The older form of an answer: sections `### 1.` to `### 6.`, an item a line. Each line that can't be read is told."""

import re
from collections.abc import Callable, Iterator, Mapping

from openbrain_tick.plan.reasoning.answer.items import Answer, Refused, from_items

_HEADING = re.compile(r"^#{1,6}\s*([1-6])\s*[.)]")
_BULLET = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
_ARROW = r"\s*(?:→|->|=>)\s*"
_DASH = r"\s+(?:\u2014|\u2013|-{1,2})\s+"
_EDGE = re.compile(rf"^(\S+)\s*--\s*([\w-]+?)\s*-->\s*(\S+?)(?:{_DASH}(.+))?$")
_MERGE = re.compile(rf"^MERGE:\s*(\S+)\s*\+\s*(\S+?){_ARROW}(.+)$")
_SPLIT = re.compile(rf"^SPLIT:\s*(\S+?){_ARROW}(.+)$")
_ESCALATE = re.compile(rf"^ESCALATE:\s*(\S+?){_ARROW}(\w+)\s*(?:\((.*)\))?$")
_CLEAR = re.compile(r"^CLEAR:\s*(\S+)\s*(?:\((.*)\))?$")
_HEALTH = re.compile(
    r"^(?:[a-z][a-z ]{0,40}[:=]?\s+)?(\d{1,2})\s*/\s*10(?!\d)[\s\u2014\u2013:.,;-]*(.*)$", re.IGNORECASE | re.ASCII
)
_SUMMARY = re.compile(r"^SUMMARY:\s*([^\s|]+)\s*\|\s*(.+)$")
LINE_CHARS = 4000
_NOTHING = {"", "none", "nothing", "n/a", "no changes", "skip", "-"}

Items = tuple[str, dict[str, object]]
"""The list that an item belongs to, and its fields."""


def from_markdown(text: str) -> Answer | None:
    """None where the text has none of the sections."""
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
    return from_items(_gathered(sections, prose), tuple(refused))


def _gathered(sections: Mapping[str, list[object]], prose: list[str]) -> dict[str, object]:
    items: dict[str, object] = {name: section for name, section in sections.items() if name != "health"}
    if prose:
        items["intent"] = {"text": " ".join(prose)}
    if "health" in sections:
        items["health"] = sections["health"][0]
    return items


def _plain(raw: str) -> str:
    line = _BULLET.sub("", raw.strip()).replace("`", "").replace("**", "")
    return line.strip()


def _edge(line: str) -> Items | None:
    match = _EDGE.match(line)
    return match and ("edges", _fields(match, "source", "type", "target", "reason"))


def _merge(line: str) -> Items | None:
    merge = _MERGE.match(line)
    if merge:
        return "merges", _fields(merge, "keep", "absorb", "title")
    split = _SPLIT.match(line)
    if split is None:
        return None
    parts = [{"title": item.strip()} for item in re.split(r"\s\+\s", split.group(2))]
    return "splits", {"arc": split.group(1), "into": parts}


def _signal(line: str) -> Items | None:
    escalate = _ESCALATE.match(line)
    if escalate:
        return "signals", {"op": "escalate", **_identity(escalate), **_fields(escalate, "", "severity", "reason")}
    clear = _CLEAR.match(line)
    return clear and ("signals", {"op": "clear", **_identity(clear), **_fields(clear, "", "reason")})


def _identity(match: re.Match[str]) -> dict[str, object]:
    """`source`, or `source#hash` where several signals have the source."""
    source, _, digest = match.group(1).partition("#")
    return {"source": source, "signal": f"{source}:{digest}" if digest else None}


def _health(line: str) -> Items | None:
    match = _HEALTH.match(line)
    return match and ("health", {"score": int(match.group(1)), "reason": match.group(2) or ""})


def _summary(line: str) -> Items | None:
    match = _SUMMARY.match(line)
    return match and ("summaries", _fields(match, "arc", "text"))


def _fields(match: re.Match[str], *names: str) -> dict[str, object]:
    return dict(_named(match, names))


def _named(match: re.Match[str], names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, value in zip(names, match.groups(), strict=True):
        if name and value is not None:
            yield name, value.strip()


_READERS: Mapping[int, Callable[[str], Items | None]] = {1: _edge, 2: _merge, 3: _signal, 5: _health, 6: _summary}
