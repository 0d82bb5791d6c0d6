"""Frontmatter as it occurs in real files."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain_cli.importers.markdown.frontmatter import page


def test_both_shapes_read_alike() -> None:
    old = page("---\nname: n\ntype: user\noriginSessionId: s\n---\nbody")
    new = page("---\nname: n\nmetadata:\n  node_type: memory\n  type: user\n  originSessionId: s\n---\nbody")

    for each in (old, new):
        assert (each.text("name"), each.text("type"), each.text("originSessionId")) == ("n", "user", "s")
        assert (each.body, each.problem) == ("body", "")
    assert new.first_line == 8


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-09-14T08:21:37.512Z", datetime(2026, 9, 14, 8, 21, 37, 512000, UTC)),
        ("2026-09-14", datetime(2026, 9, 14, tzinfo=UTC)),
        ("'2026-09-14T10:00:00+02:00'", datetime(2026, 9, 14, 8, tzinfo=UTC)),
        ("2026-09-14 08:00:00", datetime(2026, 9, 14, 8, tzinfo=UTC)),
        ("yesterday", None),
        ("[1]", None),
    ],
)
def test_times(written: str, meant: datetime | None) -> None:
    assert page(f"---\nmetadata:\n  modified: {written}\n---\n").moment("modified") == meant


def test_what_is_almost_yaml_is_read() -> None:
    found = page(
        "---\nname: Runbook: nightly\ndescription: Restart: stop, start\npaths: **/*.{ts,tsx}, src/*.py\n---\nx"
    )

    assert found.problem == ""
    assert found.text("name") == "Runbook: nightly"
    assert found.listed("paths") == ("**/*.{ts,tsx}", "src/*.py")


@pytest.mark.parametrize(
    ("broken", "line"),
    [
        ("---\nname: x\ntags: [a, [b\n---\nbody", "line 3"),
        ("---\nname: x\nbody without an end", "line 1"),
        ("---\n\tname: x\n---\nbody", "line 2"),
        (f"---\na: {'[' * 700}\n---\nbody", "line 2"),
    ],
)
def test_what_can_not_be_read_stays_text_and_is_told_with_its_line(broken: str, line: str) -> None:
    found = page(broken)

    assert found.body == broken
    assert found.problem.startswith(line)
    assert "body" not in found.problem


@pytest.mark.parametrize("plain", ["no frontmatter", "---\nA rule, then text.\n---\nmore", "---", "", "---\n---\n"])
def test_what_is_no_frontmatter_is_no_problem(plain: str) -> None:
    assert page(plain).problem == ""


@given(st.text(alphabet="-:#[]{}&*!|>'\"%@` \n\tabc0", max_size=80), st.text(max_size=20))
def test_nothing_crashes_it_and_no_text_is_lost(block: str, body: str) -> None:
    text = f"---\n{block}\n---\n{body}"

    found = page(text)

    assert text.replace("\r\n", "\n").endswith(found.body.replace("\r\n", "\n"))
    assert body.replace("\r\n", "\n").strip() in found.body.replace("\r\n", "\n")
    assert found.text("abc") == found.text("abc").strip()
    found.listed("a")
    found.moment("b")
