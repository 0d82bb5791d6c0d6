"""Tests that the verifier finds each kind of difference, and none in a correct state."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from tests.faults.verifying import comparing, findings
from tests.faults.verifying.index_reading import Entry
from tests.faults.verifying.oracle import Oracle
from tests.faults.verifying.truth_reading import Generation, Passage, Row, Truth

A, B = "00000000-0000-7000-8000-00000000000a", "00000000-0000-7000-8000-00000000000b"
TEXT = Generation("text", "t", "", "serving")
VECTOR = Generation("vector", "v", "m", "serving")
UP, DOWN = (1.0, 0.0), (0.0, 1.0)


def row(memory_id: str, reason: str = "") -> Row:
    return Row(
        id=memory_id,
        content=f"operation 1 unique {memory_id}",
        tags=("x",),
        project="p",
        revision=3,
        reason=reason,
        expires_at=0,
        indexed=True,
        text_revision=3,
        vector_revision=3,
        error="",
        passages_high=2,
        wants_vector=True,
    )


@dataclass
class Case:
    """One active memory with two passages and one forgotten memory, all correct."""

    truth: Truth = field(
        default_factory=lambda: Truth(
            rows={A: row(A), B: row(B, "forgotten")},
            passages={("m", A): [Passage(0, 3, "h0", UP), Passage(1, 3, "h1", DOWN)]},
            generations=[TEXT, VECTOR],
            outbox=0,
            delivered={A: False, B: True},
            unmatched=0,
        )
    )
    text: dict[str, Entry] = field(
        default_factory=lambda: {
            A: Entry(A, A, 3, False, text=f"operation 1 unique {A}\nx", tags=("x",), project="p"),
            B: Entry(B, B, 3, True),
        }
    )
    vectors: dict[str, Entry] = field(
        default_factory=lambda: {
            A: Entry(A, A, 3, False, vector=UP),
            comparing.point_id(A, 1): Entry(comparing.point_id(A, 1), A, 3, False, vector=DOWN),
            B: Entry(B, B, 3, True),
            comparing.point_id(B, 1): Entry(comparing.point_id(B, 1), B, 3, True),
        }
    )
    oracle: Oracle = field(default_factory=Oracle)
    model: dict[str, tuple[str, tuple[float, ...]]] = field(default_factory=lambda: {"h0": ("operation 1 unique", UP)})

    def __post_init__(self) -> None:
        self.oracle.remembered(A, 1, f"operation 1 unique {A}", ("x",), embed=True)
        self.oracle.remembered(B, 2, f"operation 1 unique {B}", ("x",), embed=True)
        self.oracle.memories[B].reason = "forgotten"

    def kinds(self) -> set[str]:
        found = [
            *comparing.acknowledged(self.truth, self.oracle),
            *comparing.delivered(self.truth),
            *comparing.text(self.truth, TEXT, self.text, tombstones=True),
            *comparing.vectors(self.truth, VECTOR, self.vectors, self.model, tombstones=True),
        ]
        return {each.kind for each in found}

    def change_row(self, memory_id: str, **changes: object) -> None:
        self.truth.rows[memory_id] = replace(self.truth.rows[memory_id], **changes)  # type: ignore[arg-type]

    def change(self, entries: dict[str, Entry], entry_id: str, **changes: object) -> None:
        entries[entry_id] = replace(entries[entry_id], **changes)  # type: ignore[arg-type]


PASSAGE, OTHER = comparing.point_id(A, 1), comparing.point_id(A, 2)

CASES: dict[str, tuple[Callable[[Case], object], set[str]]] = {
    "a row is gone": (lambda case: case.truth.rows.pop(A), {findings.LOST, findings.GHOST}),
    "a row has other content": (
        lambda case: case.oracle.memories[A].contents.__init__(("else",)),  # type: ignore[misc]
        {findings.LOST},
    ),
    "a forgotten memory lives": (
        lambda case: case.change_row(B, reason=""),
        {findings.LOST, findings.GAP, findings.STALE},
    ),
    "a row that nobody was told of": (lambda case: case.oracle.memories.pop(B), {findings.DUPLICATE}),
    "no text entry": (lambda case: case.text.pop(A), {findings.GAP}),
    "a text tombstone of the living": (lambda case: case.change(case.text, A, tombstone=True), {findings.GAP}),
    "an old text entry": (lambda case: case.change(case.text, A, revision=2), {findings.STALE}),
    "an old text under the new revision": (lambda case: case.change(case.text, A, text="else"), {findings.STALE}),
    "old tags under the new revision": (lambda case: case.change(case.text, A, tags=()), {findings.STALE}),
    "a text entry from the future": (lambda case: case.change(case.text, A, revision=4), {findings.AHEAD}),
    "a ghost": (lambda case: case.change(case.text, B, tombstone=False), {findings.GHOST}),
    "an old tombstone": (lambda case: case.change(case.text, B, revision=2), {findings.STALE}),
    "no tombstone": (lambda case: case.text.pop(B), {findings.TOMBSTONE}),
    "an entry of no memory": (
        lambda case: case.text.update(x=Entry("x", "x", 1, False)),
        {findings.GHOST},
    ),
    "no vector entry": (lambda case: case.vectors.pop(PASSAGE), {findings.GAP}),
    "another vector": (lambda case: case.change(case.vectors, PASSAGE, vector=UP), {findings.STALE}),
    "a vector of another model": (lambda case: case.model.update(h0=("operation 1 unique", DOWN)), {findings.STALE}),
    "a vector of other content": (lambda case: case.model.update(h0=("else", UP)), {findings.STALE}),
    "a vector of another length": (lambda case: case.change(case.vectors, A, vector=(1.0,)), {findings.STALE}),
    "a passage that was": (
        lambda case: case.vectors.update({OTHER: Entry(OTHER, A, 3, False, vector=UP)}),
        {findings.GHOST},
    ),
    "a vanished passage without tombstone": (
        lambda case: case.vectors.pop(comparing.point_id(B, 1)),
        {findings.TOMBSTONE},
    ),
    "no passages": (lambda case: case.truth.passages.clear(), {findings.GAP}),
    "passages of an older revision": (
        lambda case: case.truth.passages.update({("m", A): [Passage(0, 2, "h0", UP), Passage(1, 2, "h1", DOWN)]}),
        {findings.STALE},
    ),
    "a text mark behind": (lambda case: case.change_row(A, text_revision=2), {findings.MARK}),
    "a vector mark behind": (lambda case: case.change_row(A, vector_revision=2), {findings.MARK}),
    "never called indexed": (lambda case: case.change_row(A, indexed=False), {findings.MARK}),
    "failed": (lambda case: case.change_row(A, error="vector: refused"), {findings.MARK}),
}


def test_what_is_equal_is_called_equal() -> None:
    assert Case().kinds() == set()


@pytest.mark.parametrize("name", CASES)
def test_each_difference_is_seen(name: str) -> None:
    break_it, expected = CASES[name]
    case = Case()
    break_it(case)
    assert case.kinds() == expected


@pytest.mark.parametrize(
    ("delivered", "kind"),
    [
        ({B: True}, findings.GAP),
        ({A: True, B: True}, findings.STALE),
        ({A: False, B: False}, findings.GHOST),
        ({A: False, "nobody": True}, findings.GHOST),
    ],
)
def test_what_an_inbox_lacks_or_keeps_is_found(delivered: dict[str, bool], kind: str) -> None:
    case = Case()
    case.truth.delivered.clear()
    case.truth.delivered.update(delivered)

    assert case.kinds() == {kind}
