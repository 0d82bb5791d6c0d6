"""The verifier's independent view of the streams: unfinished work and dead letters."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson
import redis

from tests.faults.verifying import findings
from tests.faults.verifying.findings import Finding

GROUPS = {
    "memory.submitted": ("ingest",),
    "memory.stored": ("embedder", "indexer-text"),
    "memory.embedded": ("indexer-vector", "matcher"),
    "memory.superseded": ("indexer-text", "indexer-vector"),
    "memory.reindex": ("embedder", "indexer-text", "indexer-vector"),
}
SPOILT = b"spoilt by the harness"
"""Part of every invalid entry that the harness appends."""


def leftovers(link: "redis.Redis", prefix: str) -> Iterator[Finding]:
    """Report pending and undelivered entries of our groups."""
    for stream, groups in GROUPS.items():
        name = prefix + stream
        if not link.exists(name):
            continue
        standing: dict[str, Any] = {each["name"].decode(): each for each in link.xinfo_groups(name)}
        for group in groups:
            about = f"{stream} for {group}"
            if group not in standing:
                yield Finding(findings.LEFTOVER, f"{about}: there is no such group")
                continue
            found = standing[group]
            if found["pending"]:
                yield Finding(findings.LEFTOVER, f"{about}: {found['pending']} entries are pending")
            if _undelivered(link, name, found["last-delivered-id"]):
                yield Finding(findings.LEFTOVER, f"{about}: entries were never delivered")


def _undelivered(link: "redis.Redis", name: str, last: bytes) -> bool:
    return bool(link.xrange(name, b"(" + last, b"+", count=1))


def dead_letters(link: "redis.Redis", prefix: str) -> list[tuple[str, str, dict[bytes, bytes]]]:
    """Return (stream, group, fields) of every dead letter."""
    found = []
    for stream, groups in GROUPS.items():
        for group in groups:
            entries: Any = link.xrange(f"{prefix}{stream}.{group}.dead")
            found += [(stream, group, fields) for _, fields in entries]
    return found


def undeserved(letters: Sequence[tuple[str, str, dict[bytes, bytes]]]) -> Iterator[Finding]:
    """Report dead letters that are not the harness's invalid entries, and invalid entries that were buried twice."""
    buried: set[tuple[str, str, bytes]] = set()
    for stream, group, fields in letters:
        body, entry = fields.get(b"__data__", b""), fields.get(b"entry", b"")
        if SPOILT not in body:
            error = fields.get(b"error", b"").decode()
            message = fields.get(b"message", b"").decode(errors="replace")
            yield Finding(findings.DEAD, f"{stream} for {group}: {error} {message}")
        elif (stream, group, entry) in buried:
            yield Finding(findings.DEAD, f"{stream} for {group}: entry {entry.decode()} was buried twice")
        buried.add((stream, group, entry))


def replay(connect: "Callable[[], redis.Redis]", prefix: str) -> None:
    """Replay the embedder's dead letters, as an operator does when the model is healthy again."""
    with contextlib.closing(connect()) as link:
        for stream in (each for each, groups in GROUPS.items() if "embedder" in groups):
            name = f"{prefix}{stream}.embedder.dead"
            letters: Any = link.xrange(name)
            for entry, fields in letters:
                if SPOILT not in fields.get(b"__data__", b""):
                    link.xadd(f"{prefix}{stream}", {"__data__": fields[b"__data__"]})
                    link.xdel(name, entry)


def announce(
    connect: "Callable[[], redis.Redis]", prefix: str, workspace: str, failed: Sequence[tuple[str, int]]
) -> None:
    """Publish an event for each of these (memory, revision)."""
    about = {"specversion": "1.0", "source": "/faults", "type": "openbrain.memory.stored.v1"}
    with contextlib.closing(connect()) as link:
        for memory, revision in failed:
            data = {"memory_id": memory, "workspace_id": workspace, "version": 1, "revision": revision}
            event = {**about, "id": f"again-{memory}", "data": {**data, "change": "reindex"}}
            link.xadd(f"{prefix}memory.stored", {"__data__": orjson.dumps(event)})
