"""Renders values as lines of front matter."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from openbrain.domain.errors import Invalid
from openbrain.vault.front_matter.lines import simple
from openbrain.vault.front_matter.yaml_nodes import Scalar

Value: TypeAlias = str | int | float | bool | Sequence["Value"] | Mapping[str, "Value"] | None

_TRAILING = re.compile(r"[ \t]+#.*")
_INSIDE = re.compile(r"\w[\w ./+-]*")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def entry_lines(key: str, value: Value, was: Sequence[str], line_break: str) -> list[str]:
    """The lines of `key: value`. `was`: the lines they replace; their comment and list style are kept."""
    if isinstance(value, Sequence) and not isinstance(value, str) and _as_block(value, was):
        items = [line for line in was[1:] if line.lstrip(" ").startswith("- ")]
        indent = items[0][: items[0].index("-")] if items else "  "
        lines = [f"{_key(key)}:{_comment(was)}", *(f"{indent}- {spelt(item, inside=False)}" for item in value)]
    else:
        lines = [f"{_key(key)}: {spelt(value, inside=False)}{_comment(was) if len(was) == 1 else ''}"]
    return [line + line_break for line in lines]


def _as_block(value: Sequence[Value], was: Sequence[str]) -> bool:
    if not value or any(isinstance(item, Mapping | list | tuple) for item in value):
        return False
    return len(was) != 1 or "[" not in was[0]


def _comment(was: Sequence[str]) -> str:
    """The comment after a plain value or after the key; '' if there is none."""
    if not was or was[0].partition(":")[2].lstrip(" \t")[:1] in {'"', "'", "[", "{", "|", ">"}:
        return ""
    match = _TRAILING.search(was[0].rstrip("\r\n"))
    return match[0] if match else ""


def _key(key: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", key):
        raise Invalid("front matter", "a key is letters, digits, _, . and -")
    return key


def spelt(value: Value, *, inside: bool) -> str:
    """Render a value in one line. `inside`: it is part of a flow list or map."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return value if _is_plain(value, inside=inside) else _quoted(value)
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{spelt(key, inside=True)}: {spelt(item, inside=True)}" for key, item in value.items())
            + "}"
        )
    return "[" + ", ".join(spelt(item, inside=True) for item in value) + "]"


def _is_plain(text: str, *, inside: bool) -> bool:
    if not text.isprintable() or (inside and not _INSIDE.fullmatch(text)):
        return False
    return simple(text) == Scalar(text) and Scalar(text).value() == text and not text.startswith(("---", "..."))


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
