"""Text that a recall returned is not stored again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.errors import Invalid
from openbrain.domain.text.echoes import without_echoes
from openbrain.usecases.content.policy import DetectingPolicy
from openbrain.usecases.remember import admitted
from openbrain_api.memories.context import fenced_text
from openbrain_cli.agents.hooks.shown import brief
from openbrain_cli.agents.hooks.shown import fenced as shown_by_hook
from openbrain_mcp.tools.fence import Block, fenced

ANSWERS = {
    "tool": fenced([Block({"id": "1"}, "The cache key holds the tenant."), Block({"id": "2"}, "Prices are in cents.")]),
    "context": fenced_text.fenced([]),
    "hook": shown_by_hook([{"id": "1", "content": "The cache key holds the tenant."}]),
    "brief": brief({"decided": [{"at": "2026-11-24", "title": "Prices are in cents.", "id": "1"}]}),
}


def stored(content: str) -> str:
    return str(admitted({"content": content}, DetectingPolicy().of("w1"))["content"])


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_alone_is_refused_and_what_stands_around_it_is_stored(answer: str) -> None:
    with pytest.raises(Invalid, match="echo"):
        stored(answer)

    kept = stored(f"I asked first.\n{answer}\nSo the order's key must hold it too.")
    assert [line for line in kept.splitlines() if line] == ["I asked first.", "So the order's key must hold it too."]


def test_many_notices_are_read_in_one_pass() -> None:
    # If each is looked at again from each before it, this takes longer than any test may.
    block = "<<memory 0123456789ab 1>>x<<end 0123456789ab 1>>"
    notices = "From OpenBrain " * 300_000

    assert without_echoes(f"{notices}\nX\n{block}") == f"{notices}\nX\n"


def test_many_blocks_that_nothing_ends_are_read_in_one_pass() -> None:
    block = "<<memory 0123456789ab 1>>x<<end 0123456789ab 1>>"
    openings = "".join(f"<<memory {number:012x}>>" for number in range(300_000))

    assert without_echoes(f"{openings}\n{block}") == f"{openings}\n"


@pytest.mark.parametrize(
    "text",
    [
        "A block begins with <<memory 0123456789ab 1>> and ends with <<end ba9876543210 1>>.",
        "<<memory 0123456789ab 1>> that nothing ends",
        "cat <<EOF >> file <<end EOF",
        "<<end 0123456789ab 1>>",
        "<<end 0123456789ab 1>> <<memory 0123456789ab 1>>",
    ],
)
def test_what_only_looks_like_a_block_stays(text: str) -> None:
    assert stored(text) == text


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_around_a_block_is_kept(before: str, after: str) -> None:
    block = "<<memory 0123456789ab 1>>\nid: 1\n---\nknown\n<<end 0123456789ab 1>>"
    assert without_echoes(f"{before}{block}{after}") == f"{before}{after}"
    assert without_echoes(before) == before
