"""A page: its front matter as a typed mapping, and its body. Unchanged parts are written back byte for byte."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from openbrain.domain.errors import Invalid
from openbrain.vault import limits
from openbrain.vault.front_matter.lines import Entry, read_entries, read_line
from openbrain.vault.front_matter.rendering import Value, entry_lines
from openbrain.vault.front_matter.yaml_nodes import Node, Refused, Scalar, plain
from openbrain.vault.values import Problem

_BOM = "\ufeff"
_OPENING = re.compile(r"---[ \t]*\r?\n")
_WHOLE_NUMBER = re.compile(r"\s*[-+]?[0-9]{1,18}\s*")
_LINEWISE = re.compile(
    r"---\n(?:[^\r\n\"'\[{]*+(?:[\[{][^\r\n\"'\[\]{}]*+[\]}]|\"[^\r\n\"\\]*+\"|'[^\r\n']*+')?\n)*?---[ \t]*\n"
)
"""Front matter without values that continue in column 1 of the next line: each line that looks like a key is one."""
_LINE = re.compile(r"[^\n]*\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\r?\Z)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Front:
    """Front matter, in the order of its keys.

    `opening` and `closing` are its `---` lines, `lines` the lines between, each with its line break; all are empty if
    the page has no front matter. `broken`: it has no keys and can't be changed; `Page.problems` says why. `bom`: the
    byte order mark that the file begins with, or ''.
    """

    opening: str = ""
    lines: tuple[str, ...] = ()
    closing: str = ""
    entries: Mapping[str, Entry] = field(default_factory=dict)
    broken: bool = False
    bom: str = ""

    @property
    def present(self) -> bool:
        return bool(self.opening)

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def get(self, key: str) -> Any:
        """The value as in JSON (dates are text); None if the key is missing."""
        node = self._node(key)
        return None if node is None else plain(node)

    def text(self, key: str) -> str:
        """A scalar as written, without quotes; '' if the key is missing, null, a list or a map."""
        node = self._node(key)
        return node.text if isinstance(node, Scalar) and not node.is_null else ""

    def texts(self) -> dict[str, str]:
        """The text of each key for which `text` is not ''."""
        return {
            entry.key: node.text
            for entry in self.entries.values()
            if isinstance(node := entry.node, Scalar) and node.text and not node.is_null
        }

    def number(self, key: str) -> int | None:
        """The value as a whole number, quoted or not; None if it is not one."""
        return whole_number(self.text(key))

    def strings(self, key: str) -> tuple[str, ...]:
        """The non-empty scalars of a list as written. A scalar counts as a list of one; an empty one as no item."""
        node = self._node(key)
        if isinstance(node, list):
            return tuple(item.text for item in node if isinstance(item, Scalar) and item.text)
        text = self.text(key)
        return (text,) if text else ()

    def whole(self) -> str:
        """The block with its `---` lines."""
        return self.bom + self.opening + "".join(self.lines) + self.closing

    def with_values(self, values: Mapping[str, Value]) -> "Front":
        """Set these keys (None removes a key) and keep the lines of all others. Invalid if the front matter is broken,
        or if the keys can't be set without changing others."""
        front = self
        for key, value in values.items():
            front = front._with_value(key, value)
        return front

    def _node(self, key: str) -> Node | None:
        entry = self.entries.get(key)
        return None if entry is None else entry.node

    def _with_value(self, key: str, value: Value) -> "Front":
        if self.broken:
            raise Invalid("front matter", "it can't be read, so nothing in it is changed: mend it first")
        entry = self.entries.get(key)
        if entry is None and value is None:
            return self
        if entry is not None and _same(entry.node, value):
            return self
        end = "\r\n" if self.opening.endswith("\r\n") else "\n"
        first, behind = (entry.first, entry.end) if entry else (len(self.lines), len(self.lines))
        new = [] if value is None else entry_lines(key, value, self.lines[first:behind], end)
        if entry is not None and behind == first + 1 and len(new) == 1:
            # The usual case (heat or status): one simple line replaces another, so no other entry can change.
            was, now = read_line(self.lines[first]), read_line(new[0])
            if was is not None and now is not None and _same(now, value):
                lines = (*self.lines[:first], new[0], *self.lines[behind:])
                return replace(self, lines=lines, entries={**self.entries, key: Entry(key, now, first, behind)})
        front = replace(
            self,
            opening=self.opening or "---\n",
            lines=(*self.lines[:first], *new, *self.lines[behind:]),
            closing=self.closing or "---\n",
        )
        return front._read_again(self, key, value)

    def _read_again(self, before: "Front", key: str, value: Value) -> "Front":
        """Parse the changed lines. Invalid if any other key changed or the value is not the wanted one, as with
        anchors or a map in one line."""
        try:
            entries = read_entries(self.lines)
        except Refused as error:
            raise Invalid(key, f"can't be set here: {error.reason}") from None
        others = {name: plain(entry.node) for name, entry in entries.items() if name != key}
        meant = {name: plain(entry.node) for name, entry in before.entries.items() if name != key}
        if others != meant or (value is not None and (key not in entries or not _same(entries[key].node, value))):
            raise Invalid(key, "can't be set without changing other keys: write each key on lines of its own")
        return replace(self, entries=entries)


def _same(node: Node, value: Value) -> bool:
    if isinstance(value, str):
        return isinstance(node, Scalar) and node.text == value and not node.is_null
    here = plain(node)
    wanted = list(value) if isinstance(value, tuple) else value
    return type(here) is type(wanted) and bool(here == wanted)


def whole_number(text: str) -> int | None:
    """Parse a whole number as written in pages; None for any other text."""
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else None


def with_plain_values(text: str, values: Mapping[str, Value]) -> str | None:
    """Set words or numbers in lines such as `heat: 3`, with the result of `read` and `Front.with_values` at a tenth of
    the cost; None if only these can do it. Only for a page whose front matter is not broken."""
    front = _LINEWISE.match(text)
    if front is None:
        return None
    for key, value in values.items():
        line = _plain_line(key).search(text, 0, front.end())
        if line is None:
            return None
        if line[1] != str(value):
            new = entry_lines(key, value, [f"{line[0]}\n"], "\n")
            if len(new) != 1:
                return None
            text = text[: line.start()] + new[0][:-1] + text[line.end() :]
    return text


@lru_cache(maxsize=64)
def _plain_line(key: str) -> re.Pattern[str]:
    return re.compile(rf"^{re.escape(key)}: ([a-z]+|0|[1-9][0-9]{{0,8}})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Page:
    """A file's text in two parts. `body` begins in line `body_line` (1-based)."""

    front: Front
    body: str
    body_line: int
    problems: tuple[Problem, ...] = ()

    def text(self) -> str:
        """The text of the file."""
        return self.front.whole() + self.body


def read(text: str, path: str) -> Page:
    """Read any text as a page. What can't be read is a problem, with its line in the file."""
    bom = _BOM if text.startswith(_BOM) else ""
    opening = _OPENING.match(text, len(bom))
    if opening is None:
        return Page(Front(bom=bom), text[len(bom) :], 1)
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        problem = Problem(path, 1, "front matter is opened by --- and never closed by another")
        return Page(Front(broken=True, bom=bom), text[len(bom) :], 1, (problem,))
    block = text[opening.end() : closing.start()]
    lines = tuple(_LINE.findall(block)) if len(block) <= limits.FRONT_CHARS else (block,)
    body, body_line = text[closing.end() :], len(lines) + 3
    try:
        front = Front(opening[0], lines, closing[0], read_entries(lines), bom=bom)
    except Refused as error:
        front = Front(opening[0], lines, closing[0], broken=True, bom=bom)
        body_line = block.count("\n") + 3
        return Page(front, body, body_line, (Problem(path, error.line + 2, error.reason),))
    return Page(front, body, body_line)
