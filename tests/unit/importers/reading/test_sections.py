"""Pages into sections: nothing is lost, and a # in code is no heading."""

import re

from hypothesis import given
from hypothesis import strategies as st

from openbrain_cli.importers.markdown.sections import pieces, sections

LINE = st.one_of(
    st.sampled_from(
        ["# One", "## Two", "### Three ###", "#### four", "#no", "#", "```", "```py", "~~~~", "- ```sh", "  "]
    ),
    st.sampled_from(["    # indented", "plain", "`code`", "\tTab", "```inline``` fence?", "1. ``` x", "\u2028# odd"]),
    st.text(alphabet=st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=12),
)
PAGE = st.lists(LINE, max_size=30).map("\n".join)


def words_of(lines: list[str]) -> list[str]:
    """Lines without heading marks; lines that consist only of such marks are left out."""
    bare = (re.sub(r"^[#\s]+|[#\s]+$", "", line) for line in lines)
    return [line for line in bare if line]


@given(PAGE)
def test_every_line_with_text_is_in_exactly_one_section_and_in_order(page: str) -> None:
    told = [line for part in sections(page) for line in (part.heading, *part.body.split("\n"))]

    assert words_of(told) == words_of(page.split("\n"))


@given(PAGE)
def test_line_ends_do_not_matter(page: str) -> None:
    assert list(sections(page.replace("\n", "\r\n"))) == list(sections(page))


@given(st.text(max_size=400), st.integers(1, 50))
def test_pieces_fit_and_lose_nothing_but_white_space(text: str, limit: int) -> None:
    cut = pieces(text, limit)

    assert all(0 < len(piece) <= limit for piece in cut)
    assert "".join("".join(cut).split()) == "".join(text.split())


def test_code_is_not_cut() -> None:
    page = "intro\n\n# Setup\n```sh\n# not a heading\n~~~\n## nor this\n```\nafter\n## Next\ntext"

    found = [(part.heading, part.body) for part in sections(page)]

    assert found == [
        ("", "intro"),
        ("Setup", "```sh\n# not a heading\n~~~\n## nor this\n```\nafter"),
        ("Next", "text"),
    ]


def test_a_fence_in_a_list_is_a_fence() -> None:
    page = "# Steps\n- ```sh\n  # a comment\n  ```\n1. done"

    assert [part.heading for part in sections(page)] == ["Steps"]


def test_a_fence_closes_only_with_as_many_marks_of_its_kind() -> None:
    page = "````md\n```\n# inside\n```\n````\n# outside"

    assert [part.heading for part in sections(page)] == ["", "outside"]
