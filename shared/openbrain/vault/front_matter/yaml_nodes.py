"""YAML as plain trees that keep each scalar as written. Size and depth are bounded: YAML bombs are refused early."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from openbrain.vault import limits

_INT = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_HALF = re.compile("[\ud800-\udfff]")
_NULLS = ("", "~", "null", "Null", "NULL")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(_NULLS),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Scalar(NamedTuple):
    """A value as written. `plain`: it has no quotes and may be a number, a boolean or null."""

    text: str
    plain: bool = True

    @property
    def is_null(self) -> bool:
        """True if it is null."""
        return self.plain and self.text in _NULLS

    def value(self) -> str | int | float | bool | None:
        """The value by the core schema of YAML 1.2; dates stay text."""
        if not self.plain:
            return self.text
        if self.text in _WORDS:
            return _WORDS[self.text]
        if _INT.fullmatch(self.text):
            return int(self.text)
        return float(self.text) if _FLOAT.fullmatch(self.text) else self.text


Node: TypeAlias = Scalar | list["Node"] | dict[str, "Node"]


class Refused(Exception):
    """YAML that is not accepted; `line` counts from 0."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


def plain(node: Node) -> Any:
    """The tree as JSON values."""
    if isinstance(node, Scalar):
        return node.value()
    if isinstance(node, list):
        return [plain(item) for item in node]
    return {key: plain(item) for key, item in node.items()}


def entries(text: str) -> list[tuple[str, int, Node]]:
    """Parse `text` as a mapping: each key with its line and value. Refused if it is anything else."""
    try:
        return _Tree(text).entries()
    except Refused:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Refused(mark.line if mark else 0, f"not YAML: {error.problem or error.context}") from None
    except Exception as error:  # noqa: BLE001 - the parser has errors of its own, such as failed assertions
        raise Refused(0, f"not YAML: {type(error).__name__}") from None


class _Tree:
    """Builds nodes from the parser's events. Aliases share their node, but count as if they were written out."""

    def __init__(self, text: str) -> None:
        yaml = YAML(typ="rt", pure=True)
        yaml.allow_duplicate_keys = True  # they are refused below, with their line
        self._events: Iterator[Any] = iter(yaml.parse(text))
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._nodes = 0

    def entries(self) -> list[tuple[str, int, Node]]:
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                break
        top = next(self._events, None)
        if top is None or (isinstance(top, ScalarEvent) and not top.value and not top.style):
            return []
        if not isinstance(top, MappingStartEvent):
            raise Refused(_line(top), "front matter is `key: value` lines")
        self._plainly(top)
        pairs = list(self._pairs(1))
        end = next(self._events)
        if end.explicit or not isinstance(next(self._events), StreamEndEvent):
            raise Refused(_line(end), "one mapping, without `...` and without a second document")
        return pairs

    def _pairs(self, depth: int) -> Iterator[tuple[str, int, Node]]:
        seen: set[str] = set()
        while not isinstance(event := next(self._events), CollectionEndEvent):
            if not isinstance(event, ScalarEvent):
                raise Refused(_line(event), "a key is a plain word")
            self._count(event, 1)
            self._plainly(event)
            key = _joined(event.value)
            if key in seen:
                raise Refused(_line(event), f"the key {key[:40]!r} is given twice")
            seen.add(key)
            yield key, _line(event), self._node(next(self._events), depth)

    def _node(self, event: Any, depth: int) -> Node:
        if depth > limits.FRONT_DEPTH:
            raise Refused(_line(event), f"nested deeper than {limits.FRONT_DEPTH}")
        if isinstance(event, AliasEvent):
            return self._alias(event)
        before = self._nodes
        self._count(event, 1)
        self._plainly(event)
        node: Node
        if isinstance(event, ScalarEvent):
            node = Scalar(_joined(event.value), plain=event.style in {None, ""})
        elif isinstance(event, SequenceStartEvent):
            node = []
            while not isinstance(inner := next(self._events), CollectionEndEvent):
                node.append(self._node(inner, depth + 1))
        else:
            node = {key: value for key, _, value in self._pairs(depth + 1)}
        if event.anchor:
            self._anchors[event.anchor] = (node, self._nodes - before)
        return node

    def _alias(self, event: AliasEvent) -> Node:
        if event.anchor not in self._anchors:
            raise Refused(_line(event), "an alias (*) has no anchor (&) above it")
        node, size = self._anchors[event.anchor]
        self._count(event, size)
        return node

    def _count(self, event: Any, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > limits.FRONT_NODES:
            raise Refused(_line(event), f"more than {limits.FRONT_NODES} values, aliases written out")

    def _plainly(self, event: Any) -> None:
        if event.tag is not None:
            raise Refused(_line(event), "tags (!) are not read")


def _joined(text: str) -> str:
    """The text with the halves of characters joined that escapes can give, as in JSON; a single half becomes U+FFFD."""
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _line(event: Any) -> int:
    return int(event.start_mark.line)
