"""Frontmatter of a page as agents write it: usually, but not always, valid YAML."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from itertools import pairwise
from typing import Any

_PLAIN_VALUE = re.compile(r"^(?P<key>\s*(?:- |[A-Za-z_][\w-]*: +))(?P<value>[^\s\"'\[{|>#].*)$")
_KEY = re.compile(r"[A-Za-z_][\w-]*:(?:\s|$)")


@dataclass(frozen=True, slots=True)
class Page:
    """A page without its frontmatter, or the entire page if the frontmatter can't be read."""

    body: str
    meta: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    """Line and reason if the frontmatter can't be read; it is then part of the body."""
    first_line: int = 1
    """Number of the body's first line in the file."""

    def text(self, *names: str) -> str:
        """The first of these values that exists, as one line. Also looks in `metadata`."""
        nested = self.meta.get("metadata")
        for where in (self.meta, nested if isinstance(nested, dict) else {}):
            for name in names:
                value = where.get(name)
                if isinstance(value, str | int | float | date) and not isinstance(value, bool):
                    return " ".join(str(value).split())
        return ""

    def moment(self, name: str) -> datetime | None:
        """A time; UTC if it has no time zone."""
        nested = self.meta.get("metadata")
        value = self.meta.get(name) or (nested.get(name) if isinstance(nested, dict) else None)
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value.strip())
            except ValueError:
                return None
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime.combine(value, time())
        if not isinstance(value, datetime):
            return None
        return value if value.tzinfo else value.replace(tzinfo=UTC)

    def listed(self, name: str) -> tuple[str, ...]:
        """A list of strings, or one string separated at commas."""
        value = self.meta.get(name)
        if isinstance(value, str):
            value = _outside_braces(value)
        parts = value if isinstance(value, list) else []
        return tuple(str(part).strip() for part in parts if isinstance(part, str | int | float) and str(part).strip())


def page(text: str, *, loose: bool = False) -> Page:
    """Split a page into frontmatter and body. Never raises: frontmatter that can't be read becomes text of the body,
    or with `loose` is read line by line."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        return Page(text)
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in {"---", "..."}), None)
    if end is None:
        looks_like_it = len(lines) > 1 and _KEY.match(lines[1])
        return Page(text, problem="line 1: the frontmatter has no closing ---" if looks_like_it else "")
    block = lines[1:end]
    meta, problem = _parsed(block)
    if loose and (problem or not isinstance(meta, dict)):
        meta, problem = _by_line(block), ""
    if problem or not isinstance(meta, dict):
        return Page(text, problem=problem)
    return Page("\n".join(lines[end + 1 :]), meta, first_line=end + 2)


def _parsed(block: list[str]) -> tuple[Any, str]:
    meta, problem = _yaml("\n".join(block))
    if problem:
        # `description: Fix: do this` and `paths: **/*.ts` are not valid YAML, but common.
        quoted, still = _yaml("\n".join(_quoted(line) for line in block))
        return (meta, problem) if still else (quoted, "")
    return ({} if meta is None else meta), ""


def _yaml(text: str) -> tuple[Any, str]:
    import yaml

    try:
        return yaml.safe_load(text), ""
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or "it is not YAML"
        return None, f"line {mark.line + 2 if mark else 2}: the frontmatter can't be read: {_no_content(reason)}"
    except (ValueError, RecursionError, OverflowError):
        return None, "line 2: the frontmatter can't be read: a value in it is out of range"


def _by_line(block: list[str]) -> dict[str, Any]:
    """Read lines `key: value`; any other line continues the value before it."""
    meta: dict[str, Any] = {}
    last = ""
    for line in block:
        if _KEY.match(line):
            last, _, value = line.partition(":")
            meta[last] = value.strip()
        elif line.strip():
            meta[last] = f"{meta.get(last) or ''} {line.strip()}".strip()
    return meta


def _no_content(reason: str) -> str:
    """Remove quoted text of 4 or more characters, which may come from the file; YAML's own symbols are shorter."""
    return re.sub(r"(['\"])[^'\"]{4,}\1", "…", reason)


def _quoted(line: str) -> str:
    match = _PLAIN_VALUE.match(line.rstrip())
    return line if match is None else match["key"] + json.dumps(match["value"], ensure_ascii=False)


def _outside_braces(text: str) -> list[str]:
    """Parts between commas, but not the commas of `{ts,tsx}`."""
    cuts, closes = [len(text)], False
    for index in range(len(text) - 1, -1, -1):
        if text[index] in "{}":
            closes = text[index] == "}"
        elif text[index] == "," and not closes:
            cuts.append(index)
    cuts.append(-1)
    return [text[before + 1 : cut] for cut, before in reversed(list(pairwise(cuts)))]
