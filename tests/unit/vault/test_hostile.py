"""Malicious files: each is reported with its place; nothing is executed, read from outside, or waited for.

Quadratic work would not end here within a test's time limit.
"""

from pathlib import Path

import pytest

from openbrain.domain.errors import Invalid
from openbrain.vault import limits
from openbrain.vault.files.folder import Folder
from openbrain.vault.front_matter.document import read
from openbrain.vault.markers.markers import parse
from openbrain.vault.markers.redaction import redacted
from openbrain_tick.plan.reasoning.sections import sections

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
FULL = limits.FILE_BYTES


@pytest.mark.parametrize(
    "block",
    [
        LAUGHS,
        "a: " + "[" * 20_000 + "\n",
        "a: " + "[" * 100 + "]" * 100 + "\n",
        "a: " + "{a: " * 10_000 + "\n",
        "".join(f"{'  ' * n}a:\n" for n in range(200)),
        "a: &x [*x]\n",
        "a: " + "x" * limits.FRONT_CHARS + "\n",
        "".join(f"k{n}: 1\n" for n in range(limits.FRONT_CHARS)),
        "a: !!python/object/apply:subprocess.check_output [['touch', 'pwned']]\n",
        "a: !!python/name:os.system\n",
        "<<: *missing\n",
        "- &a [*a]\n",
        "a: \x00\n",
        "a: [\ud800]\n",
        "? " * 5_000 + "\n",
        "a: *x" + "*x" * 5_000 + "\n",
        "%YAML 9.9\n",
        "a: &" + "x" * 30_000 + " 1\nb: [" + "*x" * 10_000 + "]\n",
        "\n\n| #\n",
    ],
    ids=range(19),
)
def test_front_matter_that_was_made_to_hurt_is_left_alone(block: str) -> None:
    text = f"---\n{block}---\n<!-- @lesson -->still read<!-- @/lesson -->\n"
    page = read(text, "p.md")

    assert len(page.problems) == 1
    assert page.problems[0].path == "p.md"
    assert 2 <= page.problems[0].line <= text.count("\n")
    assert (page.front.broken, page.text() == text) == (True, True)
    assert parse(page.body, "p.md", page.body_line).markers[0].content == "still read"


def test_a_key_without_its_colon_is_set_too() -> None:
    assert read("---\n? heat\n---\n", "p").front.with_values({"heat": 3}).whole() == "---\nheat: 3\n---\n"


def test_aliases_within_the_limits_are_read() -> None:
    assert read("---\na: &x [1, 2]\nb: {c: *x}\n---\n", "p").front.get("b") == {"c": [1, 2]}


@pytest.mark.parametrize(
    "piece",
    [
        "<!-- @a ",
        '<!-- @a b="',
        "<!-- @a b=",
        "<!--",
        "<!-- @a -->",
        "<!-- @/a -->",
        "<!-- @a --><!-- @/a -->",
        "`<!-- @a -->",
        "`` ` <!-- @a -->",
        "> ```x\n",
        "```\n<!-- @a -->\n~~~\n",
        "<!-- @\n",
        "\n> <!-- @b -->\n```",
        " " * 40 + "<!--" + " " * 40,
    ],
    ids=range(14),
)
def test_a_flood_of_marks_in_one_line_or_many_is_bounded(piece: str) -> None:
    body = piece * (FULL // 16 // len(piece))
    found = parse(body, "p.md")

    assert len(found.markers) <= limits.MARKERS
    assert len(found.problems) <= limits.PROBLEMS + 2


def test_a_heading_and_a_token_are_looked_for_once() -> None:
    # If each space and token is looked at again from each before it, this takes longer than any test may.
    assert [section.title for section in sections(f"## a{' ' * 100_000}b # #\nx\n")] == [f"a{' ' * 100_000}b #"]
    assert redacted("eyJ-" * 500_000) == "eyJ-" * 500_000


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a eyJhbGciOiJI.eyJzdWIiOiIx.c2ln b", "a [redacted] b"),
        ("eyJx.eyJhbGciOiJI.eyJzdWIiOiIx", "eyJx.[redacted]"),
        ("eyJhbGciOiJI.short sk-aaaaaaaaaaaaaaaa", "eyJhbGciOiJI.short [redacted]"),
    ],
)
def test_a_token_is_redacted_beside_what_is_none(text: str, kept: str) -> None:
    assert redacted(text) == kept


def test_a_line_of_fifty_megabytes_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "big.md").open("wb") as file:
        file.truncate(50 * 1024 * 1024)

    with pytest.raises(Invalid, match="split it"):
        Folder(tmp_path).read("big.md")
    assert [entry.size for entry in Folder(tmp_path).walk()] == [50 * 1024 * 1024]


def test_a_line_as_long_as_a_file_may_be_is_read() -> None:
    body = "x" * FULL + "<!-- @lesson -->y<!-- @/lesson -->"

    assert [marker.content for marker in parse(body, "p.md").markers] == ["y"]
    assert read("---\ntitle: a\n---\n" + body, "p.md").body == body


def test_what_looks_like_a_command_stays_text() -> None:
    marker = parse(
        '<!-- @signal severity=info verify="$(touch pwned); rm -rf /" -->x<!-- @/signal -->', "p.md"
    ).markers[0]

    assert marker.attrs["verify"] == "$(touch pwned); rm -rf /"
    assert not Path("pwned").exists()
