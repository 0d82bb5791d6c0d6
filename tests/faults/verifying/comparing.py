"""The verifier's comparison: the database with the indexes, and both with what was acknowledged. Pure functions."""

import hashlib
import math
import uuid
from collections.abc import Iterator, Mapping, Sequence

from tests.faults.verifying import findings
from tests.faults.verifying.findings import Finding
from tests.faults.verifying.index_reading import Entry
from tests.faults.verifying.oracle import Oracle
from tests.faults.verifying.truth_reading import Generation, Row, Truth

_SAME = 0.9999
"""Least cosine of two vectors that count as equal: float32 loses precision."""


def acknowledged(truth: Truth, oracle: Oracle) -> Iterator[Finding]:
    """Check that the database has every acknowledged memory as it was acknowledged, and no others."""
    for memory_id, expected in oracle.memories.items():
        row = truth.rows.get(memory_id)
        about = f"{memory_id} of operation {expected.operation}"
        if row is None:
            yield Finding(findings.LOST, f"{about} is not in the truth")
            continue
        if row.reason != expected.reason:
            yield Finding(
                findings.LOST, f"{about} is {row.reason or 'alive'}, acknowledged {expected.reason or 'alive'}"
            )
        if expected.reason == "erased":
            continue
        if row.content not in expected.contents:
            yield Finding(findings.LOST, f"{about} has other content than was acknowledged")
        if row.tags not in expected.tags:
            yield Finding(findings.LOST, f"{about} has other tags than were acknowledged")
    for memory_id in truth.rows.keys() - oracle.memories.keys():
        yield Finding(findings.DUPLICATE, f"{memory_id} is in the truth, and no acknowledgement names it")


def delivered(truth: Truth) -> Iterator[Finding]:
    """Check that the inbox of an agent subscribed to everything has all active memories, and a withdrawal for each
    ended one."""
    for row in truth.rows.values():
        withdrawn = truth.delivered.get(row.id)
        if row.alive and withdrawn is None:
            yield Finding(findings.GAP, f"{row.id} was not delivered to who waits for it")
        elif row.alive and withdrawn:
            yield Finding(findings.STALE, f"{row.id} was withdrawn, and is alive")
        elif row.reason == "erased" and withdrawn is not None:
            yield Finding(findings.GHOST, f"{row.id} is erased, and in an inbox")
        elif not row.alive and withdrawn is False:
            yield Finding(findings.GHOST, f"{row.id} is {row.reason}, and was not withdrawn")
    for memory_id in truth.delivered.keys() - truth.rows.keys():
        yield Finding(findings.GHOST, f"{memory_id} is in an inbox, and not in the truth")


def text(truth: Truth, generation: Generation, entries: Mapping[str, Entry], *, tombstones: bool) -> Iterator[Finding]:
    """Compare one full-text generation."""
    yield from _strangers(truth, entries, generation.name)
    for row in truth.rows.values():
        entry = entries.get(row.id)
        about = f"{row.id} in {generation.name}"
        if not row.alive:
            yield from _ended(row, entry, about, tombstones=tombstones)
            continue
        yield from _living(row, entry, about)
        if entry is not None and not entry.tombstone and entry.text is not None:
            same = row.content in entry.text and entry.tags == row.tags and entry.project == row.project
            if not same:
                yield Finding(findings.STALE, f"{about}: its text, tags or project are not the row's")
    serving = generation.status == "serving"
    for row in truth.rows.values() if serving else ():
        if row.text_revision != row.revision:
            yield Finding(findings.MARK, f"{row.id}: text_revision {row.text_revision} of revision {row.revision}")


def vectors(
    truth: Truth,
    generation: Generation,
    entries: Mapping[str, Entry],
    model: Mapping[str, tuple[str, Sequence[float]]],
    *,
    tombstones: bool,
) -> Iterator[Finding]:
    """Compare one vector generation. `model`: input hash -> the input and the model's vector, as far as known."""
    yield from _strangers(truth, entries, generation.name)
    for row in truth.rows.values():
        if row.alive and row.wants_vector:
            yield from _passages(truth, row, generation, entries, model, tombstones=tombstones)
        else:
            yield from _without_vectors(row, generation, entries, tombstones=tombstones)
    serving = generation.status == "serving"
    for row in truth.rows.values() if serving else ():
        if (row.wants_vector or not row.alive) and row.vector_revision != row.revision:
            yield Finding(findings.MARK, f"{row.id}: vector_revision {row.vector_revision} of revision {row.revision}")
        if row.alive and not row.indexed:
            yield Finding(findings.MARK, f"{row.id}: indexed_at is not set")
        if row.alive and row.error:
            yield Finding(findings.MARK, f"{row.id} has failed: {row.error}")


def _passages(
    truth: Truth,
    row: Row,
    generation: Generation,
    entries: Mapping[str, Entry],
    model: Mapping[str, tuple[str, Sequence[float]]],
    *,
    tombstones: bool,
) -> Iterator[Finding]:
    passages = truth.passages.get((generation.model, row.id), [])
    if not passages or [each.number for each in passages] != list(range(len(passages))):
        yield Finding(findings.GAP, f"{row.id}: the truth holds no whole set of passages of {generation.model}")
        return
    for passage in passages:
        about = f"{row.id} passage {passage.number} in {generation.name}"
        if passage.revision != row.revision:
            yield Finding(findings.STALE, f"{about}: embedded at revision {passage.revision} of {row.revision}")
        if passage.vector is None:
            yield Finding(findings.GAP, f"{about}: the truth has no vector of it")
            continue
        entry = entries.get(point_id(row.id, passage.number))
        yield from _living(row, entry, about)
        if entry is None or entry.vector is None:
            continue
        if _cosine(entry.vector, passage.vector) < _SAME:
            yield Finding(findings.STALE, f"{about}: its vector is not the truth's")
        if passage.input_hash in model:
            said, answered = model[passage.input_hash]
            if _cosine(entry.vector, answered) < _SAME:
                yield Finding(findings.STALE, f"{about}: its vector is not its model's")
            if passage.number == 0 and " ".join(row.content.split()[:3]) not in said:
                yield Finding(findings.STALE, f"{about}: its vector was made of other content")
    yield from _vanished(row, generation, entries, first=len(passages), tombstones=tombstones)


def _without_vectors(
    row: Row, generation: Generation, entries: Mapping[str, Entry], *, tombstones: bool
) -> Iterator[Finding]:
    if not row.alive:
        yield from _ended(row, entries.get(row.id), f"{row.id} in {generation.name}", tombstones=tombstones)
    yield from _vanished(row, generation, entries, first=0 if row.alive else 1, tombstones=tombstones and not row.alive)


def _vanished(
    row: Row, generation: Generation, entries: Mapping[str, Entry], *, first: int, tombstones: bool
) -> Iterator[Finding]:
    """Check for passages that the row no longer has."""
    known = {point_id(row.id, number): number for number in range(max(row.passages_high, first) + 8)}
    for entry in entries.values():
        if entry.memory_id != row.id or entry.tombstone:
            continue
        if known.get(entry.id, first) >= first:
            yield Finding(findings.GHOST, f"{row.id}: point {entry.id} in {generation.name} is a passage it hasn't")
    for number in range(first, row.passages_high) if tombstones else ():
        if point_id(row.id, number) not in entries:
            yield Finding(findings.TOMBSTONE, f"{row.id} passage {number} in {generation.name} left no tombstone")


def _strangers(truth: Truth, entries: Mapping[str, Entry], name: str) -> Iterator[Finding]:
    for entry in entries.values():
        if entry.memory_id not in truth.rows and not entry.tombstone:
            yield Finding(findings.GHOST, f"{entry.id} in {name} is of no memory")


def _living(row: Row, entry: Entry | None, about: str) -> Iterator[Finding]:
    if entry is None:
        yield Finding(findings.GAP, f"{about} is missing")
    elif entry.revision != row.revision:
        kind = findings.STALE if entry.revision < row.revision else findings.AHEAD
        yield Finding(kind, f"{about} stands at revision {entry.revision} of {row.revision}")
    elif entry.tombstone:
        yield Finding(findings.GAP, f"{about} is a tombstone, and the memory lives")


def _ended(row: Row, entry: Entry | None, about: str, *, tombstones: bool) -> Iterator[Finding]:
    if entry is None:
        if tombstones:
            yield Finding(findings.TOMBSTONE, f"{about} ({row.reason}) left no tombstone")
    elif not entry.tombstone:
        yield Finding(findings.GHOST, f"{about} is {row.reason} and can be found")
    elif entry.revision != row.revision:
        kind = findings.STALE if entry.revision < row.revision else findings.AHEAD
        yield Finding(kind, f"{about}: its tombstone stands at revision {entry.revision} of {row.revision}")


def point_id(memory_id: str, number: int) -> str:
    """Compute the id as the design specifies it, without the product's code."""
    return memory_id if number == 0 else str(uuid.uuid5(uuid.UUID(memory_id), str(number)))


def input_hash(said: str) -> str:
    """The key of a model input."""
    return hashlib.sha256(said.encode()).hexdigest()


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    if len(one) != len(other):
        return -1.0
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    size = math.sqrt(math.fsum(a * a for a in one) * math.fsum(b * b for b in other))
    return product / size if size else -1.0
