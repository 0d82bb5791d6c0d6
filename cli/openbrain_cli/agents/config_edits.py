"""Additions to the configuration files of other programs, and their removal.

Each edit is a pure function of the bytes of a file. It keeps everything that the user or the program wrote.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any, Final

from openbrain.domain.errors import Conflict

BEGINS: Final = "# openbrain: begin (written by `openbrain connect`, removed by `openbrain connect --remove`)"
ENDS: Final = "# openbrain: end"


@dataclass(frozen=True, slots=True)
class Entry:
    """One value in a JSON file: a member by its path, or an element of the list at that path."""

    keys: tuple[str, ...]
    value: Any
    in_list: bool = False


@dataclass(frozen=True, slots=True)
class JsonEdit:
    """Members and elements to add to a JSON file."""

    path: str
    entries: tuple[Entry, ...]

    def added(self, before: bytes) -> bytes:
        """Return the file with the entries; unchanged if it has all of them."""
        document = self._read(before)
        after = deepcopy(document)
        for entry in self.entries:
            _add(after, entry, self.path)
        return before if after == document and before else _written(after, before)

    def removed(self, now: bytes, original: bytes) -> bytes:
        """Return the file without the entries, with the values they replaced in `original`; b'' if nothing is left."""
        current, was = self._read(now), self._read(original)
        document = deepcopy(current)
        for entry in self.entries:
            _remove(document, entry, was)
        if document == current:
            return now
        return b"" if not document and not original else _written(document, now)

    def _read(self, raw: bytes) -> dict[str, Any]:
        if not raw.strip():
            return {}
        try:
            parsed = json.loads(raw)
        except ValueError as error:
            raise Conflict(
                f"{self.path} can't be read as JSON ({error}), perhaps because it has comments: add what "
                "`openbrain connect --print` shows by hand"
            ) from None
        if not isinstance(parsed, dict):
            raise Conflict(f"{self.path} contains no JSON object: check the file first")
        return parsed


@dataclass(frozen=True, slots=True)
class TomlBlock:
    """Tables at the end of a TOML file, between two comments."""

    path: str
    text: str
    table: tuple[str, ...]
    """The table that the rest of the file must not define."""

    def added(self, before: bytes) -> bytes:
        """Return the file with the block at its end."""
        kept = self._without_block(before)
        value: Any = self._read(kept)
        for name in self.table:
            value = value.get(name, {}) if isinstance(value, Mapping) else {}
        if value:
            raise Conflict(
                f"{self.path} already has a table [{'.'.join(self.table)}]: remove it first, "
                "because the two settings would conflict"
            )
        body = kept.decode().rstrip("\n")
        after = (f"{body}\n\n" if body else "") + f"{BEGINS}\n{self.text.rstrip()}\n{ENDS}\n"
        self._read(after.encode())
        return after.encode()

    def removed(self, now: bytes, original: bytes) -> bytes:
        """Return the file without the block; b'' if nothing is left and `original` was empty."""
        kept = self._without_block(now)
        return b"" if not kept.strip() and not original else kept

    def _read(self, raw: bytes) -> Mapping[str, Any]:
        try:
            return tomllib.loads(raw.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise Conflict(f"{self.path} can't be read as TOML ({error}): fix it first") from None

    def _without_block(self, raw: bytes) -> bytes:
        head, begins, rest = raw.decode(errors="surrogateescape").partition(BEGINS)
        if not begins:
            return raw
        _, ends, tail = rest.partition(ENDS)
        if not ends:
            raise Conflict(f"{self.path}: the line {ENDS!r} is missing after {BEGINS!r}: remove the block by hand")
        kept = head.rstrip("\n") + "\n" if head.strip() else ""
        return (kept + tail.lstrip("\n")).encode(errors="surrogateescape")


Edit = JsonEdit | TomlBlock


def shown(edit: Edit) -> str:
    """Return the edit alone, as a user would add it to an empty file."""
    return edit.added(b"").decode()


def as_record(edit: Edit) -> dict[str, Any]:
    """Return the edit as JSON data, which `from_record` reads."""
    return {"kind": type(edit).__name__, **asdict(edit)}


def from_record(record: Mapping[str, Any]) -> Edit:
    if record["kind"] == "TomlBlock":
        return TomlBlock(record["path"], record["text"], tuple(record["table"]))
    entries = (Entry(tuple(item["keys"]), item["value"], item["in_list"]) for item in record["entries"])
    return JsonEdit(record["path"], tuple(entries))


def _add(document: dict[str, Any], entry: Entry, path: str) -> None:
    *above, last = entry.keys
    parent: Any = document
    for key in above:
        parent = parent.setdefault(key, {})
        if not isinstance(parent, dict):
            raise Conflict(f"{path}: {'.'.join(entry.keys)} can't be set, because {key!r} is not an object")
    if not entry.in_list:
        parent[last] = entry.value
        return
    elements = parent.setdefault(last, [])
    if not isinstance(elements, list):
        raise Conflict(f"{path}: {'.'.join(entry.keys)} is not a list: check the file first")
    if entry.value not in elements:
        elements.append(entry.value)


def _remove(document: dict[str, Any], entry: Entry, original: Mapping[str, Any]) -> None:
    *above, last = entry.keys
    places: list[dict[str, Any]] = [document]
    for key in above:
        inner = places[-1].get(key)
        if not isinstance(inner, dict):
            return
        places.append(inner)
    parent, was = places[-1], _at(original, entry.keys)
    if entry.in_list:
        elements = parent.get(last)
        if isinstance(elements, list):
            if not (isinstance(was, list) and entry.value in was):
                elements[:] = [item for item in elements if item != entry.value]
            if not elements and was is None:
                del parent[last]
    elif parent.get(last) == entry.value:
        if was is None:
            del parent[last]
        else:
            parent[last] = was
    for depth in range(len(above), 0, -1):  # remove objects that contained only these entries
        if places[depth] or _at(original, entry.keys[:depth]) is not None:
            return
        del places[depth - 1][above[depth - 1]]


def _at(document: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def _written(document: Mapping[str, Any], before: bytes) -> bytes:
    """Serialise `document` with the indentation of the file `before`."""
    indented = next((line for line in before.splitlines() if line[:1] in (b" ", b"\t")), b"  ")
    margin = indented[: len(indented) - len(indented.lstrip())].decode()
    text = json.dumps(document, indent=margin or None, ensure_ascii=False) + "\n"
    # Half a surrogate pair, as of a shortened emoji, can only be written as an escape, which is JSON's too.
    return text.encode(errors="backslashreplace")
