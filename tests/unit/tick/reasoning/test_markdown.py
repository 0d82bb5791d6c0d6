"""The older form of an answer, in sections of Markdown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain_tick.plan.reasoning.answer import markdown_answer
from openbrain_tick.plan.reasoning.answer.markdown_answer import from_markdown

MARKDOWN = """Thoughts first.

### 1. Edges
- `a` --parent--> `c` — the same story
c --unblocks--> d
d --related-->b - with a plain dash
this is a line that says nothing
### 2. Merges
* MERGE: a + b -> Both of them
SPLIT: c → One + Two
### 3. Signals
- ESCALATE: `auth` -> critical (it grows (fast))
- CLEAR: disk#44 (swept)
None.
### 4. Intent
The operator ships
the release.
### 5. Health
6/10 — edges are sparse
### 6. Summaries
SUMMARY: a | First: it worked
SUMMARY a first
"""


def test_the_older_form_is_understood_and_each_bad_line_told() -> None:
    answer = from_markdown(MARKDOWN)

    assert answer is not None
    assert [(e.source, e.type, e.target, e.reason) for e in answer.edges.values()] == [
        ("a", "parent", "c", "the same story"),
        ("c", "unblocks", "d", ""),
        ("d", "related", "b", "with a plain dash"),
    ]
    assert [(m.keep, m.absorb, m.title) for m in answer.merges.values()] == [("a", "b", "Both of them")]
    assert [[part.title for part in split.into] for split in answer.splits.values()] == [["One", "Two"]]
    assert [(s.op, s.source, s.signal, s.severity, s.reason) for s in answer.signals.values()] == [
        ("escalate", "auth", None, "critical", "it grows (fast)"),
        ("clear", "disk", "disk:44", None, "swept"),
    ]
    assert answer.intent is not None
    assert answer.intent.text == "The operator ships the release."
    assert answer.health is not None
    assert (answer.health.score, answer.health.reason) == (6, "edges are sparse")
    assert [(s.arc, s.text) for s in answer.summaries.values()] == [("a", "First: it worked")]
    assert [each.item for each in answer.refused] == ["line 7", "line 22"]


@pytest.mark.parametrize(
    ("section", "score", "reason"),
    [
        ("### 5. Brain health\nBrain health: 7/10 — edges are sparse", 7, "edges are sparse"),
        ("### 5. Brain Health\n**Brain health:** 10/10 - edges are sparse", 10, "edges are sparse"),
        ("### 5. Health\nScore: 0 / 10: edges are sparse", 0, "edges are sparse"),
        ("### 5. Brain health: 7/10 — edges are sparse", 7, "edges are sparse"),
        ("### 5. Health\n7/10", 7, ""),
    ],
)
def test_health_is_read_with_and_without_its_name(section: str, score: int, reason: str) -> None:
    answer = from_markdown(section)

    assert answer is not None
    assert answer.health is not None
    assert (answer.health.score, answer.health.reason, answer.refused) == (score, reason, ())


@pytest.mark.parametrize("line", ["7/100", "about 7", "2026-11-22: 7/10 and then"])
def test_what_is_no_score_is_told(line: str) -> None:
    answer = from_markdown(f"### 5. Health\n{line}")

    assert answer is not None
    assert (answer.health, [each.item for each in answer.refused]) == (None, ["line 2"])


def test_prose_is_no_answer() -> None:
    assert from_markdown("I would rather not.\n# 7. heading") is None


@given(st.text(alphabet="abc#123456. -→>+|/:()`\nMERGESPLITCLASUY", max_size=200))
def test_no_text_breaks_the_reading_of_the_older_form(text: str) -> None:
    answer = from_markdown("### 1. Edges\n" + text)

    assert answer is not None


@pytest.mark.parametrize(
    ("line", "edge"),
    [
        ("a--fixed_by-->b", ("a", "fixed_by", "b", "")),
        ("a--b --parent--> c", ("a--b", "parent", "c", "")),
        ("a-- parent -->b \u2014 as in c --x", ("a", "parent", "b", "as in c --x")),
        ("a\t--parent-->\tb -- why", ("a", "parent", "b", "why")),
        ("a b --parent--> c", None),
        ("a --parent--> b c", None),
        ("--parent--> b", None),
        ("a ---> b", None),
        ("a --par ent--> b", None),
        ("a --parent-->", None),
    ],
)
def test_an_edge_in_its_ways_of_writing(line: str, edge: tuple[str, ...] | None) -> None:
    answer = from_markdown(f"### 1. Edges\n{line}")

    assert answer is not None
    assert [(e.source, e.type, e.target, e.reason) for e in answer.edges.values()] == ([edge] if edge else [])
    assert len(answer.refused) == (edge is None)


@pytest.mark.parametrize(
    ("line", "merge"),
    [
        ("MERGE:a+b->Both + all", ("a", "b", "Both + all")),
        ("MERGE: a +b+c => Both -> one", ("a", "b+c", "Both -> one")),
        ("MERGE: a b + c -> Both", None),
        ("MERGE: a + b ->", None),
        ("MERGE: + b -> Both", None),
        ("MERGE: a + b", None),
    ],
)
def test_a_merge_in_its_ways_of_writing(line: str, merge: tuple[str, ...] | None) -> None:
    answer = from_markdown(f"### 2. Merges\n{line}")

    assert answer is not None
    assert [(m.keep, m.absorb, m.title) for m in answer.merges.values()] == ([merge] if merge else [])


@pytest.mark.parametrize(("section", "line"), [(1, "a" + "-" * 400_000), (2, "MERGE: " + "+a" * 400_000)])
def test_a_line_of_signs_alone_is_read_in_one_pass(section: int, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # If each is looked at again from each before it, this takes longer than any test may.
    monkeypatch.setattr(markdown_answer, "LINE_CHARS", 1_000_000)
    answer = from_markdown(f"### {section}.\n{line}")

    assert answer is not None
    assert [each.item for each in answer.refused] == ["line 2"]
