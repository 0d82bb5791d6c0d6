"""Markers: what is read, which problems are reported, and that writing is the inverse of reading."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.errors import Conflict, Invalid
from openbrain.vault import limits
from openbrain.vault.markers import markers
from openbrain.vault.markers.markers import contained, parse, render, replaced, without_markers
from openbrain.vault.values import Marker

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
pieces = st.sampled_from(
    [
        "<!-- @lesson -->",
        "<!-- @/lesson -->",
        "<!-- @edge type=a target=b -->",
        "<!-- @signal severity=info -->",
        "<!-- @/signal -->",
        "<!--@hot heat=3-->",
        "<!-- @/hot -->",
        "\n",
        "\n",
        "text",
        "`",
        "``",
        "```",
        "\n```\n",
        "\n~~~ py\n",
        "\n~~~\n",
        "> ",
        "\n> ```\n",
        "<!--",
        "-->",
        "@",
        " ",
        "=",
        '"',
        "<!-- @bad x -->",
        "a=1",
        "\r\n",
    ]
)
attributes = st.sampled_from(
    [" k=v", ' k="v w"', " j=", " k=a--", " i='x'", "\n l=é>", ' m=""', " n=a,b", " ", "-", "/", '"']
)
tags = st.lists(st.sampled_from(["<!-- @a", "<!--@/a", "-->", " -->"]) | attributes, max_size=12)
bodies = st.lists(pieces, max_size=16).map("".join)


def kinds(body: str) -> list[tuple[str, str, bool]]:
    return [(marker.type, marker.content, marker.block) for marker in parse(body, "p.md").markers]


def told(body: str) -> list[int]:
    return [problem.line for problem in parse(body, "p.md").problems]


def test_blocks_and_inline_markers_with_their_lines() -> None:
    body = (
        'one\n<!-- @signal severity=critical source="a > b | c" -->\nit\nburns\n<!-- @/signal -->\n<!--@edge type=x-->'
    )
    signal, edge = parse(body, "p.md", first_line=10).markers

    assert (signal.type, signal.attrs, signal.content, signal.block) == (
        "signal",
        {"severity": "critical", "source": "a > b | c"},
        "it\nburns",
        True,
    )
    assert (signal.line_start, signal.line_end) == (11, 14)
    assert (edge.type, edge.attrs, edge.content, edge.line_start, edge.block) == ("edge", {"type": "x"}, "", 15, False)


def test_an_inner_marker_is_not_lost() -> None:
    body = "<!-- @lesson -->\na <!-- @edge type=x target=y --> b\n<!-- @signal severity=info -->s<!-- @/signal -->\n"
    assert [kind for kind, _, _ in kinds(body + "<!-- @/lesson -->")] == ["lesson", "edge", "signal"]
    assert told(body + "<!-- @/lesson -->") == []


def test_a_marker_on_the_line_where_a_block_ends_is_not_lost() -> None:
    assert kinds("<!-- @lesson -->x<!-- @/lesson --> <!-- @edge type=a --><!-- @edge type=b -->") == [
        ("lesson", "x", True),
        ("edge", "", False),
        ("edge", "", False),
    ]


def test_a_block_that_is_never_closed_swallows_nothing() -> None:
    body = "<!-- @lesson -->\none\n\n<!-- @lesson -->\ntwo\n<!-- @/lesson -->\n"

    assert kinds(body) == [("lesson", "", False), ("lesson", "two", True)]
    assert told(body) == [1]


def test_code_is_not_read() -> None:
    assert kinds("```\n<!-- @lesson -->\n```\n<!-- @todo priority=1 -->x<!-- @/todo -->") == [("todo", "x", True)]
    assert kinds("~~~~ md\n<!-- @hot -->\n~~~\n<!-- @hot -->\n~~~~\n<!-- @hot -->") == [("hot", "", False)]
    assert kinds("Write `<!-- @lesson -->` and ``a ` <!-- @hot -->`` or <!-- @hot -->") == [("hot", "", False)]
    assert kinds("> ```\n> <!-- @hot -->\nout <!-- @edge type=a -->") == [("edge", "", False)]
    assert kinds("- item\n  ```\n  <!-- @hot -->\n  ```\n<!-- @edge type=a -->") == [("edge", "", False)]
    assert told("```\n<!-- @lesson -->\n```") == []


def test_a_fence_that_nothing_closes_is_told_where_it_hides_something() -> None:
    assert told("a\n```\n<!-- @lesson -->\nx\n<!-- @/lesson -->") == [2]
    assert told("a\n```\nplain") == []


@pytest.mark.parametrize(
    "mark",
    [
        "<!-- @signal max-age=3 -->",
        "<!-- @signal source='a b' -->",
        "<!-- @signal pinned -->",
        "<!-- @signal source=a>b -->",
        '<!-- @signal source="a -->',
        "<!-- @signal source=a source=b -->",
        '<!-- @signal source="a"b="c" -->',
        "<!-- @-signal -->",
        "<!-- @signal",
        "<!-- @/signal -->",
        "<!-- @ -->",
    ],
)
def test_what_cannot_be_taken_is_told_with_its_line(mark: str) -> None:
    found = parse(f"text\n{mark}\nmore\n", "p.md", first_line=8)

    assert found.markers == ()
    assert [(problem.path, problem.line) for problem in found.problems] == [("p.md", 9)]


def test_a_block_that_cannot_be_taken_does_not_hide_what_is_in_it() -> None:
    found = parse("<!-- @lesson x -->\n<!-- @edge type=a -->\n<!-- @/lesson -->\n", "p.md")

    assert [marker.type for marker in found.markers] == ["edge"]
    assert [problem.line for problem in found.problems] == [1]


def test_names_are_case_sensitive_and_other_comments_are_comments() -> None:
    assert kinds("<!-- note --><!-- @Lesson --><!---->") == [("Lesson", "", False)]
    assert told("<!-- note @x --><!-- a -- b -->") == []


def test_a_flood_is_bounded_and_told() -> None:
    found = parse("<!-- @hot -->\n" * (limits.MARKERS + 5), "p.md")

    assert len(found.markers) == limits.MARKERS
    assert [problem.line for problem in found.problems] == [limits.MARKERS + 1]


def test_deep_nesting_is_bounded_and_told() -> None:
    deep = 5_000
    found = parse("<!-- @a -->\n" * deep + "x" * 1000 + "<!-- @/a -->" * deep, "p.md")

    assert sum(len(marker.content) for marker in found.markers) < 100 * limits.MARKER_DEPTH * deep
    assert len(found.problems) == limits.PROBLEMS


def test_a_marker_is_replaced_where_it_stood() -> None:
    body = "a <!-- @signal severity=warning source=x -->s<!-- @/signal --> b"
    marker = parse(body, "p.md").markers[0]
    new = render(Marker("signal", {"severity": "resolved", "source": "x"}, "s", block=True))

    changed = replaced(body, marker, new)
    assert changed == f"a {new} b"
    with pytest.raises(Conflict):
        replaced("z" + body, marker, new)


def test_what_cannot_be_written_is_refused() -> None:
    for marker in (
        Marker("signal", {"source": 'a"b'}),
        Marker("signal", {"a b": "c"}),
        Marker("lesson", {}, "x <!-- @/lesson --> y", block=True),
        Marker("lesson", {}, "```\nx", block=True),
        Marker("lesson", {}, " x ", block=True),
        Marker("not a name", {}),
    ):
        with pytest.raises(Invalid):
            render(marker)


def test_marks_are_taken_out_for_readers() -> None:
    assert without_markers("a<!-- @hot -->b `<!-- @x -->` c<!-- @/hot --><!-- kept -->") == (
        "ab `<!-- @x -->` c<!-- kept -->"
    )


@given(bodies | texts)
def test_any_text_is_read_and_every_place_is_true(body: str) -> None:
    found = parse(body, "p.md", first_line=3)

    assert found == parse(body, "p.md", first_line=3)
    for marker in found.markers:
        assert marker.line_start == body.count("\n", 0, marker.start) + 3
        assert marker.line_end == body.count("\n", 0, marker.end - 1) + 3
        assert body.startswith("<!--", marker.start)
        assert body.endswith("-->", marker.start, marker.end)
        assert marker.content in body[marker.start : marker.end]
    starts = [marker.start for marker in found.markers]
    assert starts == sorted(set(starts))
    assert all(3 <= problem.line <= body.count("\n") + 3 for problem in found.problems)


@given(bodies | tags.map("".join))
def test_a_mark_read_at_once_is_the_one_read_piece_by_piece(body: str) -> None:
    at_once = parse(body, "p.md")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markers, "_plainly_marked", lambda *_: None)
        assert parse(body, "p.md") == at_once
        patch.setattr(markers, "_MARK", re.compile(r"<!--\s*@()()()"))
        assert parse(body, "p.md") == at_once


@given(bodies)
def test_what_is_put_back_changes_no_byte(body: str) -> None:
    for marker in parse(body, "p.md").markers:
        assert replaced(body, marker, body[marker.start : marker.end]) == body


@given(st.dictionaries(st.from_regex(r"\w{1,8}", fullmatch=True), texts, max_size=3), texts, st.booleans())
def test_what_is_written_is_read_again(attrs: dict[str, str], content: str, block: bool) -> None:
    marker = Marker("signal", attrs, content.strip() if block else "", block=block)
    try:
        text = render(marker)
    except Invalid:
        return
    again = parse(text, "p.md").markers[0]
    assert (again.type, again.attrs, again.content, again.block) == ("signal", attrs, marker.content, block)


@given(bodies | texts)
def test_foreign_text_stays_inside_its_marker(text: str) -> None:
    content = contained(text)
    body = f"<!-- @lesson -->\n{content}\n<!-- @/lesson -->\n\n<!-- @signal severity=info -->s<!-- @/signal -->\n"

    assert [kind for kind, _, _ in kinds(body)] == ["lesson", "signal"]
    assert told(body) == []
    assert contained(content) == content
