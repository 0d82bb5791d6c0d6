"""Exports in tests: what a file says, and whether two say the same."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

Line = dict[str, Any]


def lines_of(body: bytes) -> list[Line]:
    return [json.loads(each) for each in body.splitlines()]


def of_kind(body: bytes, kind: str) -> list[Line]:
    return [each for each in lines_of(body) if each["kind"] == kind]


def as_file(lines: Iterable[Line], *, footer: bool = True) -> bytes:
    """A file of these lines after the header, with a footer that fits."""
    found = list(lines)
    body = b"".join(json.dumps(each).encode() + b"\n" for each in found)
    if not footer:
        return body
    counts = {
        name: sum(each["kind"] == kind for each in found)
        for name, kind in (("memories", "memory"), ("history", "history"), ("lineage", "lineage"))
    }
    last = {"kind": "footer", **counts, "digest": f"sha256:{hashlib.sha256(body).hexdigest()}"}
    return body + json.dumps(last).encode() + b"\n"


def differences(one: Iterable[bytes], other: Iterable[bytes]) -> Iterator[str]:
    """What two whole exports say differently of a memory: of itself, its history in order, its parents. Where pages
    end, and the number of a row's revision, is each database's own."""
    ours, theirs = _by_memory(one), _by_memory(other)
    for memory_id in ours.keys() | theirs.keys():
        if ours.get(memory_id) != theirs.get(memory_id):
            kinds = zip(ours.get(memory_id, ("",) * 3), theirs.get(memory_id, ("",) * 3), strict=True)
            names = [name for name, (a, b) in zip(("memory", "history", "lineage"), kinds, strict=True) if a != b]
            yield f"{memory_id}: {names}"


def _by_memory(lines: Iterable[bytes]) -> dict[str, tuple[str, ...]]:
    """Digests, so that two large files can be compared."""
    found: dict[str, dict[str, Any]] = {}
    for line in _told(lines):
        kind = line["kind"]
        if kind == "footer":
            continue
        about = line[{"memory": "id", "history": "memory_id", "lineage": "child_id"}[kind]]
        digest = found.setdefault(about, {}).setdefault(kind, hashlib.sha256())
        digest.update(json.dumps(line, sort_keys=True).encode())
    kinds = ("memory", "history", "lineage")
    return {name: tuple(own[kind].hexdigest() if kind in own else "" for kind in kinds) for name, own in found.items()}


def told(body: bytes) -> list[str]:
    """What an export says, whatever the order of what happened at the same moment."""
    found = (each for each in _told(body.splitlines()) if each["kind"] != "footer")
    return sorted(json.dumps(each, sort_keys=True) for each in found)


def _told(lines: Iterable[bytes]) -> Iterator[Line]:
    for raw in lines:
        line = json.loads(raw)
        if line["kind"] in ("memory", "history", "lineage"):
            if line["kind"] == "memory":
                del line["revision"]
            yield line
        elif line["kind"] == "footer":
            del line["digest"]
            yield line
