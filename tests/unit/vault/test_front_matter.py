"""Front matter is read as YAML does, and unchanged parts are written back byte for byte."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.errors import Invalid
from openbrain.vault.front_matter import lines as front_lines
from openbrain.vault.front_matter import yaml_nodes
from openbrain.vault.front_matter.document import Page, read, with_plain_values
from openbrain.vault.front_matter.yaml_nodes import Refused
from openbrain.vault.pages.arc_parsing import parse_arc

PAGE = """\
---
# Kept by hand.
cluster_id: 2026-11-21-cache-0a1b  # never changes
title: "Cache: the second --- try"
heat: 9   # x
source_sessions:
  - 0071
  - 1e5
created: 2026-11-21T10:00:00+00:00
signals: {errors: 3, joy: 0, tools: 1200}
edges: [{"sibling": "a, b"}]

# about the rest
nested:
  deep: [1, {two: 3}]
summary: |
  two
  lines
empty: []
none:
---
# Cache
"""

words = st.sampled_from(
    [
        "a",
        "b c",
        "x: y",
        "1",
        "007",
        "1.5",
        "-3",
        "true",
        "null",
        "~",
        "",
        "yes",
        "#no",
        "a #b",
        "a# b",
        "'q'",
        '"q"',
        "'it''s'",
        '"a\\nb"',
        "[]",
        "[a, b]",
        "{a: 1, b: x}",
        "{a: 1, a: 2}",
        "[a,b]",
        "- x",
        "-x",
        "?",
        "a:",
        "a:b",
        "*x",
        "&x",
        "!t",
        "%d",
        "@a",
        "`b",
        "|",
        ">",
        "{",
        "]",
        "2026-11-21",
        "0x1f",
        "1_000",
        ".5",
        "é",
        "a\tb",
        "...",
    ]
)
keys = st.sampled_from(["a", "b", "c-d", "e_f", "title", "x.y"])
lines = st.one_of(
    st.builds("{}: {}".format, keys, words),
    st.builds("{}:{}".format, keys, words),
    st.builds("{}{} {}".format, st.sampled_from(["", "  ", " "]), st.just("-"), words),
    st.sampled_from(["", "  ", "# comment", "  # comment", "plain", "  more", "\t"]),
)
blocks = st.lists(lines, max_size=8).map(lambda found: "".join(f"{line}\n" for line in found))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
values: st.SearchStrategy[Any] = st.one_of(
    texts,
    st.integers(-(10**12), 10**12),
    st.booleans(),
    st.lists(texts, max_size=4),
    st.dictionaries(st.sampled_from(["errors", "joy", "a b"]), st.one_of(texts, st.integers(0, 99)), max_size=3),
    st.lists(st.dictionaries(st.sampled_from(["sibling", "x"]), texts, min_size=1, max_size=2), max_size=3),
)


def page(block: str) -> Page:
    return read(f"---\n{block}---\nbody\n", "p.md")


def test_a_page_is_read_with_types() -> None:
    found = read(PAGE, "p.md")

    assert found.problems == ()
    front = found.front
    assert front.text("title") == "Cache: the second --- try"
    assert front.text("cluster_id") == "2026-11-21-cache-0a1b"
    assert (front.number("heat"), front.get("heat")) == (9, 9)
    assert front.strings("source_sessions") == ("0071", "1e5")
    assert front.text("created") == "2026-11-21T10:00:00+00:00"
    assert front.get("signals") == {"errors": 3, "joy": 0, "tools": 1200}
    assert front.get("edges") == [{"sibling": "a, b"}]
    assert front.get("nested") == {"deep": [1, {"two": 3}]}
    assert front.get("summary") == "two\nlines\n"
    assert (front.strings("empty"), front.strings("none"), front.strings("missing")) == ((), (), ())
    assert (front.get("none"), front.text("none"), front.number("title")) == (None, "", None)
    assert (found.body, found.body_line) == ("# Cache\n", PAGE[: PAGE.index("# Cache\n")].count("\n") + 1)


def test_a_change_touches_its_own_lines_only() -> None:
    front = read(PAGE, "p.md").front.with_values({"heat": 3, "source_sessions": ["a", "b: c"], "new": "x: y"})

    assert front.whole() == PAGE.split("# Cache\n", maxsplit=1)[0].replace("heat: 9   # x", "heat: 3   # x").replace(
        "  - 0071\n  - 1e5\n", '  - a\n  - "b: c"\n'
    ).replace("none:\n---\n", 'none:\nnew: "x: y"\n---\n')


def test_a_key_is_removed_with_its_lines() -> None:
    front = read(PAGE, "p.md").front.with_values({"source_sessions": None, "missing": None})

    assert front.whole() == PAGE.split("# Cache\n", maxsplit=1)[0].replace("source_sessions:\n  - 0071\n  - 1e5\n", "")


def test_a_page_without_front_matter_gets_some() -> None:
    found = read("# Title\n", "p.md")

    assert (found.front.present, found.body_line) == (False, 1)
    assert found.front.with_values({"status": "active", "heat": 0}).whole() == "---\nstatus: active\nheat: 0\n---\n"


def test_a_byte_order_mark_stays_at_the_start() -> None:
    page = read("\ufeff# Note\n", "")
    assert page.front.with_values({"heat": 3}).whole() + page.body == "\ufeff---\nheat: 3\n---\n# Note\n"
    broken = read("\ufeff---\nheat: 3\n", "")
    assert (broken.front.broken, broken.text()) == (True, "\ufeff---\nheat: 3\n")


def test_windows_line_breaks_stay() -> None:
    found = read("---\r\ntitle: a\r\nheat: 1\r\n---\r\nbody\r\n", "p.md")

    assert found.front.with_values({"heat": 2}).whole() == "---\r\ntitle: a\r\nheat: 2\r\n---\r\n"


def test_a_colon_in_a_title_needs_no_quotes() -> None:
    """People write titles this way, though YAML refuses it. Also next to values that only YAML can read."""
    for more in ("", "deep:\n  - {a: [1]}\n"):
        found = page(f"title: Router cache | piped: colon\n{more}")
        assert (found.problems, found.front.text("title")) == ((), "Router cache | piped: colon")


@pytest.mark.parametrize(
    ("block", "line"),
    [
        ("a: 1\na: 2\n", 3),
        ("a: 1\nb: &x [1]\nc: *y\n", 4),
        ("a: !!python/object/apply:os.system ['true']\n", 2),
        ("- a\n- b\n", 2),
        ("a: 1\nb: [1\n", 4),
        ("a: 1\nb: {c: 1, c: 2}\n", 3),
        ("a: x\vb\n", 2),
        ("? [a]\n: 1\n", 2),
        ("a: {b: 1}\n...\n", 3),
    ],
)
def test_what_cannot_be_taken_is_told_with_its_line(block: str, line: int) -> None:
    found = page(block)

    assert [(problem.path, problem.line) for problem in found.problems] == [("p.md", line)]
    assert found.front.broken
    assert list(found.front) == []
    assert found.text() == f"---\n{block}---\nbody\n"
    assert found.body == "body\n"
    with pytest.raises(Invalid):
        found.front.with_values({"heat": 1})


def test_front_matter_that_nothing_closes_is_told_and_left() -> None:
    text = "---\ntitle: a\n# no end\n"
    found = read(text, "p.md")

    assert [problem.line for problem in found.problems] == [1]
    assert (found.front.broken, found.body, found.text()) == (True, text, text)


def test_a_line_that_holds_several_keys_is_not_changed() -> None:
    front = page("{a: 1, b: 2}\n").front

    assert (front.get("a"), front.get("b")) == (1, 2)
    with pytest.raises(Invalid):
        front.with_values({"a": 3})


def test_an_anchor_that_others_use_is_not_removed() -> None:
    front = page("a: &x [1, 2]\nb: *x\n").front

    assert front.get("b") == [1, 2]
    with pytest.raises(Invalid):
        front.with_values({"a": "other"})


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    assert read(text, "p").text() == text
    assert read(f"---\n{text}\n---\n", "p").text() == f"---\n{text}\n---\n"


@given(blocks)
def test_a_block_comes_back_as_it_was_and_says_where_it_is_wrong(block: str) -> None:
    found = page(block)

    assert found.text() == f"---\n{block}---\nbody\n"
    assert all(2 <= problem.line <= block.count("\n") + 2 for problem in found.problems)
    assert found.front.broken == bool(found.problems)


@given(blocks)
def test_the_short_way_reads_what_yaml_reads(block: str) -> None:
    try:
        short = front_lines._simple_entries(block)
    except Refused:
        short = None
    if short is None:
        return
    try:
        whole = yaml_nodes.entries(block)
    except Refused:
        # A colon in a plain value: YAML accepts it in quotes.
        assert ": " in block or ":\n" in block or ":\t" in block
        return
    assert [(key, line, yaml_nodes.plain(node)) for key, line, node in short] == [
        (key, line, yaml_nodes.plain(node)) for key, line, node in whole
    ]


@given(blocks, st.sampled_from(["a", "title", "new"]), values)
def test_a_value_that_is_set_is_read_again_and_nothing_else_moves(block: str, key: str, value: Any) -> None:
    found = page(block)
    if found.front.broken:
        return
    before = {name: found.front.get(name) for name in found.front if name != key}
    try:
        changed = found.front.with_values({key: value})
    except Invalid:
        return
    again = read(changed.whole() + found.body, "p.md")
    assert again.problems == ()
    assert (again.front.text(key) if isinstance(value, str) else again.front.get(key)) == value
    assert {name: again.front.get(name) for name in again.front if name != key} == before
    assert again.body == found.body
    assert again.front.with_values({key: value}).whole() == changed.whole()


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), values, max_size=3))
def test_whatever_is_set_on_an_empty_page_is_read_again(wanted: dict[str, Any]) -> None:
    front = read("", "p.md").front.with_values(wanted)
    again = read(front.whole(), "p.md").front

    for key, value in wanted.items():
        assert (again.text(key) if isinstance(value, str) else again.get(key)) == value


@given(
    st.lists(blocks | st.sampled_from(["a: 3\n", "title: word\n"]), max_size=4).map("".join),
    st.dictionaries(
        st.sampled_from(["a", "title"]), st.sampled_from(["graduated", "true", "3"]) | st.integers(-9, 10**9)
    ),
)
def test_a_plain_line_changes_as_the_whole_page_would(block: str, wanted: dict[str, Any]) -> None:
    found = page(block)
    quick = with_plain_values(found.text(), wanted)
    if found.front.broken or quick is None:
        return
    assert quick == replace(found, front=found.front.with_values(wanted)).text()


def test_halves_of_characters_in_escapes_are_joined_as_in_json() -> None:
    title = '---\ntitle: "\\ud83d\\ude80 up \\udfff"\nedges: [{"sibling": "\\ud83d\\ude80"}]\n---\n'
    arc = parse_arc("clusters/a.md", title, 0)

    assert (arc.title, arc.links) == ("\U0001f680 up \ufffd", ("\U0001f680",))


def test_what_only_looks_like_a_key_is_left_to_the_whole_page() -> None:
    plain = '---\ntitle: "A: b"\nedges: []\nstatus: active\nheat: 3\n---\nheat: 3\n---\n'

    assert with_plain_values(plain, {"heat": 0, "status": "graduated"}) == plain.replace(
        "active\nheat: 3", "graduated\nheat: 0"
    )
    for block in ('title: "a\nheat: 3\nb"\n', "title: [a,\nheat: 3\n]\n", "heat: 3 # warm\n", "heat: '3'\n", "heat:\n"):
        assert with_plain_values(f"---\n{block}---\n", {"heat": 0}) is None
    assert with_plain_values("---\r\na: b\r\n---\r\nheat: 3\n---\n", {"heat": 0}) is None
