"""Parses the lines of front matter into entries.

Most pages have only `key: value` lines and plain lists. These are parsed here, at a thirtieth of the cost of YAML and
with the same result; everything else is parsed as YAML. A value such as `Cache: the second try`, which YAML refuses
without quotes but people often write, is read as text.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from openbrain.vault import limits
from openbrain.vault.front_matter.yaml_nodes import Node, Refused, Scalar, entries

_BREAKS = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_NAME = r"([A-Za-z_][A-Za-z0-9_.-]*):"
_KEY = re.compile(rf"{_NAME}(?:[ \t]+(.*))?")
_LINES = re.compile(
    rf"{_NAME}(?: +([A-Za-z0-9][^#:\n]*+)\n|(?:[ \t]+(.*))?\n)|( *)-[ \t]+(?:([A-Za-z0-9][^#:\n]*+)\n|(.+)\n)|(.*)\n"
)
"""Matches each line of a block: a key with plain words, a key with another value, a list item (indent, then plain words
or another value), or any other line. `simple` accepts the same plain words."""
_QUOTED = re.compile(r"(?:\"([^\"\\]*)\"|'([^']*)')[ \t]*(?:[ \t]#.*)?")
_COMMENT = re.compile(r"(?:^|[ \t]+)#.*")
_WORD = r"[A-Za-z0-9_][A-Za-z0-9_./+-]*"
_FLOW_LIST = re.compile(rf"\[ *(?:({_WORD}(?: *, *{_WORD})*))? *\]")
_FLOW_MAP = re.compile(r"\{ *((?:[A-Za-z_]\w*: +\w+)(?: *, *[A-Za-z_]\w*: +\w+)*)? *\}")


class Entry(NamedTuple):
    """A key, its value, and its lines in the block: from `first` up to, not including, `end`."""

    key: str
    node: Node
    first: int
    end: int


def read_entries(lines: Sequence[str]) -> dict[str, Entry]:
    """Entries by key, in order. Refused if the block is not a mapping within the limits."""
    if sum(map(len, lines)) > limits.FRONT_CHARS:
        raise Refused(0, f"front matter holds at most {limits.FRONT_CHARS} characters")
    whole = "".join(lines)
    if "\r" in whole:
        whole = "".join(f"{_without_end(line)}\n" for line in lines)
    if not (printable := whole.replace("\n", "").isprintable()) and _BREAKS.search(whole):
        number = next(number for number, line in enumerate(whole.split("\n")) if _BREAKS.search(line))
        raise Refused(number, "lines end with LF or CRLF, not with other separators")
    pairs = _simple_entries(whole, printable=printable)
    if pairs is None:
        try:
            pairs = entries("".join(lines))
        except Refused:
            bare = whole.split("\n")[:-1]
            mended = [_mended(bare, number) for number in range(len(bare))]
            if mended == bare:
                raise
            pairs = entries("\n".join(mended) + "\n")
    behind = [*(line for _, line, _ in pairs[1:]), len(lines)]
    return {
        key: Entry(key, node, line, end if end == line + 1 else _last(lines, line, end))
        for (key, line, node), end in zip(pairs, behind, strict=False)
    }


def _last(lines: Sequence[str], first: int, end: int) -> int:
    """The end of an entry's lines. Blank lines and comments before the next key belong to that key."""
    while end > first + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return end


def _simple_entries(block: str, *, printable: bool = False) -> list[tuple[str, int, Node]] | None:
    """Parse a block whose lines end with LF; None if it needs YAML. `printable`: all its characters are known to be
    printable."""
    if not printable and any(not line.isprintable() and line[0] != "#" for line in block.split("\n")):
        return None
    pairs: list[tuple[str, int, Node]] = []
    seen: set[str] = set()
    indent: str | None = None  # of the items in the last key's list; None before the first item
    for number, (name, words, value, item_indent, item_words, item_value, other) in enumerate(_LINES.findall(block)):
        node: Node | None
        if name:
            if name in seen:
                raise Refused(number, f"the key {name[:40]!r} is given twice")
            node = Scalar(words.rstrip(" ")) if words else simple(value, lenient=True)
            if node is None:
                return None
            seen.add(name)
            pairs.append((name, number, node))
            indent = None
        elif item_words or item_value:
            if not pairs or not _takes(pairs[-1][2], item_indent, indent):
                return None
            item = Scalar(item_words.rstrip(" ")) if item_words else simple(item_value)
            if not isinstance(item, Scalar) or not item.text:
                return None
            key, first, before = pairs[-1]
            pairs[-1] = (key, first, [*before, item] if isinstance(before, list) and indent is not None else [item])
            indent = item_indent
        elif not other.startswith("#") and other.strip(" "):
            return None
    return pairs


def _takes(node: Node, indent: str, known: str | None) -> bool:
    if known is not None:
        return known == indent
    return isinstance(node, Scalar) and node.plain and not node.text


def simple(text: str, *, lenient: bool = False) -> Node | None:
    """The value after `key:` or `-`; None if it needs YAML. `lenient`: accept a colon in plain text."""
    text = text.strip(" ")
    if not text or text.startswith("#"):
        return Scalar("")
    if text[0].isalnum() and "#" not in text and ":" not in text:
        return Scalar(text)  # nearly all values
    if text[0] in "\"'[{":
        return _enclosed(text)
    if text[0] in ",]}&*!|>%@`\t" or (text[0] in "-?:" and (len(text) == 1 or text[1] in " \t")):
        return None
    if "#" in text:
        text = _COMMENT.sub("", text, count=1).rstrip(" ")
    if (": " in text or ":\t" in text or text.endswith(":")) and not lenient:
        return None
    return Scalar(text)


def _without_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def read_line(line: str) -> Node | None:
    """The value of a `key: value` line; None if it needs YAML."""
    bare = _without_end(line)
    key = _KEY.fullmatch(bare) if bare.isprintable() else None
    return None if key is None else simple(key[2] or "")


def _enclosed(text: str) -> Node | None:
    """Parse a value in quotes or brackets; None if it needs YAML."""
    if (quoted := _QUOTED.fullmatch(text)) is not None:
        return Scalar(quoted[1] if quoted[1] is not None else quoted[2], plain=False)
    if (flow := _FLOW_LIST.fullmatch(text)) is not None:
        return [Scalar(word.strip(" ")) for word in flow[1].split(",")] if flow[1] else []
    if (flow := _FLOW_MAP.fullmatch(text)) is not None:
        return _map(flow[1]) if flow[1] else {}
    return None


def _map(text: str) -> Node | None:
    pairs = [pair.split(":", 1) for pair in text.split(",")]
    values: dict[str, Node] = {key.strip(" "): Scalar(value.strip(" ")) for key, value in pairs}
    return values if len(values) == len(pairs) else None


def _mended(bare: list[str], number: int) -> str:
    """Quote the line's value if a colon in it is all that makes it invalid YAML; otherwise the line unchanged."""
    line = bare[number]
    key = _KEY.fullmatch(line)
    if key is None or (number + 1 < len(bare) and bare[number + 1].startswith((" ", "\t"))):
        return line
    value = simple(key[2] or "", lenient=True)
    if not isinstance(value, Scalar) or not value.plain or simple(key[2] or "") is not None:
        return line
    return f"{key[1]}: '" + value.text.replace("'", "''") + "'"
