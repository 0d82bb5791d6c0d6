"""Reading a page as an arc: what is read, and which problems are reported."""

from datetime import date

import pytest

from openbrain.domain.memory import DAY
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.arcs import Edge, InjectMark, SignalMark, of_row, raise_key, row
from tests.support.vault.pages import NOW, page, signal

PATH = "clusters/2026-11-22/2026-11-22-a.md"


def test_what_cluster_wrote_is_read() -> None:
    body = (
        "<!-- @lesson -->\nLook first.\n<!-- @/lesson -->\n"
        + signal("Down", verify="api")
        + "<!-- @inject target=claude.md ttl_days=3 -->\nMind it.\n<!-- @/inject -->\n"
        + "<!-- @edge type=parent target=b -->\n"
    )
    text = page("2026-11-22-a", body, sessions=2, tools=7, joy=1, summary="It works.", mitigates="[x, y]").replace(
        "edges: []", 'edges: [{"sibling": "c"}]'
    )
    arc = parse_arc(PATH, text, 0)

    assert (arc.id, arc.region, arc.status, arc.heat, arc.summary) == (
        "2026-11-22-a",
        "left-hemisphere",
        "complete",
        0,
        "It works.",
    )
    assert (arc.sessions, arc.session_count, arc.tools, arc.joy, arc.lessons) == (
        ("session-0", "session-1"),
        2,
        7,
        1,
        1,
    )
    assert arc.created_us == NOW - 2 * 3_600_000_000
    assert (arc.ranked, arc.merged, arc.dated, arc.writable) == (True, False, True, True)
    assert arc.edges == (Edge("sibling", "c"), Edge("parent", "b"))
    assert arc.mitigates == ("x", "y")
    line = text[: text.index("@signal")].count("\n") + 1
    assert arc.signals == (SignalMark("critical", "auth-broker", "Down", line, "api", ""),)
    assert arc.injects == (InjectMark("claude.md", "Mind it.", line + 3, 3),)
    assert [marker.type for marker in arc.markers] == ["lesson", "signal", "inject", "edge"]
    assert arc.problems == ()


def test_an_arc_keeps_through_its_row() -> None:
    arc = parse_arc(PATH, page("2026-11-22-a", signal("Down") + "<!-- @signal bad='x' -->", replayed_from="[a, b]"), 5)
    assert arc.problems
    values, detail = row(arc)
    assert of_row([list(each) if isinstance(each, tuple) else each for each in values], detail) == arc


@pytest.mark.parametrize(
    ("said", "count"),
    [("source_sessions: one", 1), ("source_sessions: []", 0), ("source_sessions:", 0), ("source_sessions: [a, b]", 2)],
)
def test_sessions_are_counted_as_they_are_written(said: str, count: int) -> None:
    assert parse_arc(PATH, f"---\ncluster_id: a\n{said}\n---\n", 0).session_count == count


@pytest.mark.parametrize(
    ("path", "front", "day", "dated"),
    [
        (PATH, "created: 2026-11-20", "2026-11-20", True),
        (PATH, "cluster_id: 2026-11-19-x", "2026-11-19", True),
        (PATH, "title: x", "2026-11-22", True),
        (PATH, "created: the day before", "2026-11-22", True),
        (PATH, "created: 0001-01-01T00:00:00+23:00", "2026-11-22", True),
        (PATH, "created: 9999-12-31T23:00:00-05:00", "2026-11-22", True),
        ("left/notes.md", "title: x", "1970-01-03", False),
        ("left/2026-99-99-notes.md", "title: x", "1970-01-03", False),
    ],
)
def test_when_it_was_created(path: str, front: str, day: str, *, dated: bool) -> None:
    arc = parse_arc(path, f"---\n{front}\n---\n", 2 * DAY * 1000 + 7_000_000)
    assert arc.created_us % DAY == 0
    assert (arc.created_us // DAY, arc.dated) == (_days(day), dated)


def test_a_page_is_an_arc_by_its_cluster_id_or_its_dated_name_in_clusters() -> None:
    assert parse_arc("clusters/2026-11-22/2026-11-22-x.md", "text", 0).ranked
    assert parse_arc("left/x.md", "---\ncluster_id: x\n---\n", 0).ranked
    assert not parse_arc("left/reference/lessons-2026-11-22.md", "text", 0).ranked
    assert not parse_arc("clusters/2026-11-22/readme.md", "text", 0).ranked
    assert parse_arc("clusters/2026-11-22/x.merged.merged.md", "---\ncluster_id: x\n---\n", 0)[1] == "x"


def test_what_cannot_be_taken_is_told_with_its_line_and_nothing_raises() -> None:
    text = page(
        "a",
        signal("Down", severity="apocalyptic") + "<!-- @inject ttl_days=soon -->\nx\n<!-- @/inject -->",
        created="soon",
    )
    arc = parse_arc(PATH, text, 0)
    assert arc.signals[0].severity == "warning"
    assert [(problem.line > 0, problem.reason.split(":")[0]) for problem in arc.problems] == [
        (False, "created is no ISO date"),
        (True, "@signal"),
        (True, "@inject"),
    ]
    broken = parse_arc(PATH, "---\na: [\n---\n\n" + signal("Down"), 0)
    assert (broken.writable, len(broken.signals), broken.problem_count) == (False, 1, 1)


def _days(day: str) -> int:

    return (date.fromisoformat(day) - date(1970, 1, 1)).days


@pytest.mark.parametrize("front", ["", "---\nheat: 3\n---\n"])
def test_a_byte_order_mark_hides_no_heading(front: str) -> None:
    assert parse_arc("left/note.md", f"{front}\ufeff# The note\n", 0).title == "The note"


@pytest.mark.parametrize("front", ["cluster_id: x\n", "<<<<<<< HEAD\nheat: 3\n=======\nheat: 4\n>>>>>>> theirs\n"])
def test_front_matter_that_can_not_be_read_does_not_carry_its_signals_to_other_projects(front: str) -> None:
    arc = parse_arc("left/x.md", f"---\nproject: 'shop' # ours\n{front}---\n" + signal("Down"), 0)
    assert raise_key(arc, arc.signals[0]).endswith(":critical:shop")
