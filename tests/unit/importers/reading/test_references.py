"""`@path` in a CLAUDE.md, but not in code."""

import pytest

from openbrain_cli.importers.markdown.file_references import imports_of, prose


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("see @a.md and @b.md", ["a.md", "b.md"]),
        ("`@a.md` @b.md", ["b.md"]),
        ("``@a.md ` @b.md`` @c.md", ["c.md"]),
        ("`a`` @a.md `` b` @b.md", ["b.md"]),
        ("`` @a.md ` @b.md", ["a.md", "b.md"]),
        ("``` @a.md ``` `@b.md` ` @c.md", ["c.md"]),
    ],
)
def test_inline_code_ends_at_as_many_backticks(line: str, written: list[str]) -> None:
    assert [each.written for each in imports_of(f"- {line}")] == written


def test_a_line_of_backticks_is_read_in_one_pass() -> None:
    # If each is looked at again from each before it, this takes longer than any test may.
    alone, mixed = "`" * 300_000, "".join("`" * (1 + number % 900) + "a" for number in range(900))

    assert list(prose(f"-{alone}\n-{mixed}")) == [(1, f"-{alone}"), (2, f"-{mixed}")]
