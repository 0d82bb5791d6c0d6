"""Token states: which words have one, and what they say about a question and a document."""

import hashlib
import tracemalloc
from array import array
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from openbrain.adapters.embedding.minilm import MiniLM
from openbrain.adapters.embedding.token_states import states as token_states
from openbrain.adapters.embedding.token_states.learn_projection import main_directions
from openbrain.adapters.embedding.token_states.states import DIMENSIONS, VERSION, content_tokens, pack, similarities
from openbrain.adapters.embedding.wordpiece import ids
from openbrain.domain.errors import SetupError
from openbrain.ports.models import TokenSimilarity

TEXT = "The otters of Lake Tahoe, in the rain!"


@pytest.fixture
async def model() -> AsyncIterator[MiniLM]:
    opened = MiniLM()
    yield opened
    await opened.close()


def unit(*places: int) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
    """States that each point along one axis."""
    return np.eye(DIMENSIONS, dtype=np.float32)[list(places)]


def asked(*places: int) -> "array[float]":
    return array("f", unit(*places).tobytes())


async def test_only_words_that_say_something_have_a_state(model: MiniLM) -> None:
    wanted = sum(content_tokens()[ids(TEXT)])
    (encoding,) = await model.encode([TEXT])

    assert wanted == len(ids("otter Lake Tahoe rain"))
    assert len(encoding.states) == len(VERSION) + wanted * DIMENSIONS
    assert (await model.encode(["of the, and!"]))[0].states == VERSION


async def test_the_pass_gives_the_vector_that_it_gave_before(model: MiniLM) -> None:
    texts = [TEXT, "short", "heron words " * 400]
    before, encodings = await model.embed(texts), await model.encode(texts)

    for vector, encoding in zip(before, encodings, strict=True):
        assert list(encoding.vector) == pytest.approx(list(vector), abs=1e-6)
    assert len(encodings[2].states) == len(VERSION) + 400 * len(ids("heron words")) * DIMENSIONS, (
        "words beyond the window have states too"
    )


async def test_a_word_is_compared_in_its_context(model: MiniLM) -> None:
    (question,) = await model.encode_queries(["a bank account"])
    documents = ["She took the cheque to the bank", "They sat on the bank of the river", "The soup was cold"]
    found = similarities(question.states, [[each.states] for each in await model.encode(documents)])

    assert None not in found
    assert among(found)[0] == max(among(found))


def among(found: Sequence[TokenSimilarity | None]) -> list[float]:
    """The `among` values of the documents that have states."""
    return [each.among for each in found if each is not None]


def test_the_best_passage_counts_and_what_has_no_states_is_told_apart() -> None:
    found = similarities(asked(1, 2), [[pack(unit(9)), pack(unit(1, 2))], [pack(unit(1))], [], [VERSION], [b"\xff12"]])

    assert found[2:] == [None] * 3
    assert found[0] == pytest.approx((1, 1, 3), abs=0.01), "its tokens are those of all passages"
    assert found[1] == pytest.approx((0.27, 0.5, 1), abs=0.01), "half of the words match, and the more common half"
    assert similarities(array("f"), [[pack(unit(1))]]) == [None]


def test_a_name_that_all_documents_bear_tells_nothing() -> None:
    documents = [[pack(unit(1, 2))], [pack(unit(1, 3))], [pack(unit(1, 4))]]
    found = similarities(asked(1, 3), documents)
    first, second, third = among(found)

    assert first == third
    assert first == pytest.approx(0, abs=0.05)
    assert second == pytest.approx(1, abs=0.05)
    assert [each and each.alone for each in found] == pytest.approx([0.5, 1, 0.5], abs=0.01), "`alone` counts it"


def test_words_of_a_document_beside_count_for_it_by_their_share() -> None:
    documents = [[pack(unit(1))], [pack(unit(3))], [pack(unit(4))], []]
    alone = similarities(asked(1, 3), documents)
    whole = similarities(asked(1, 3), documents, [(0, 1, 1.0)])
    half = similarities(asked(1, 3), documents, [(0, 1, 0.5), (2, 3, 1.0), (3, 0, 1.0)])

    assert among(alone)[0] < among(half)[0] < among(whole)[0]
    assert among(whole)[0] == pytest.approx((among(alone)[0] + 1) / 2, abs=0.01), "half is its score alone"
    assert {each[0] and each[0].alone for each in (alone, half, whole)} == {alone[0] and alone[0].alone}
    assert whole[1:] == half[1:] == alone[1:], "a lender gains nothing"


@pytest.mark.parametrize("size", [1, 40])
def test_who_stands_beside_changes_no_comparison_within(size: int) -> None:
    random = np.random.default_rng(size)

    def document() -> Sequence[bytes]:
        states = random.normal(size=(size, DIMENSIONS)).astype(np.float32)
        return [pack(states / np.linalg.norm(states, axis=1, keepdims=True))]

    documents = [document() for _ in range(5)]
    there = among(similarities(asked(1, 2, 3), documents))
    back = among(similarities(asked(1, 2, 3), documents[::-1])[::-1])
    assert there == pytest.approx(back, abs=1e-5)


def test_long_texts_and_a_long_question_take_little_memory() -> None:
    passage = pack(np.full((120, DIMENSIONS), 0.125, np.float32))
    question = array("f", [0.125] * 250 * DIMENSIONS)
    tracemalloc.start()
    found = similarities(question, [[passage] * 50] * 4)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [each.alone for each in found if each] == [pytest.approx(1, abs=0.02)] * 4
    assert peak < 15_000_000, "all similarities at once take 50 MB, those of a hundred texts over a gigabyte"


@pytest.mark.parametrize("at_once", [1, 200, 500])
def test_passages_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    documents = [[pack(unit(*range(first, first + count))) for count in (1, 3, 2)] for first in (0, 4, 9)]
    whole = similarities(asked(3, 9, 10), documents)
    monkeypatch.setattr(token_states, "_AT_ONCE", at_once)

    assert similarities(asked(3, 9, 10), documents) == whole


def test_a_projection_that_was_changed_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_states, "PROJECTION_SHA256", hashlib.sha256(b"other").hexdigest())

    with pytest.raises(SetupError, match="install openbrain-memory again"):
        token_states.projection.__wrapped__()


def test_the_projection_keeps_the_main_directions_the_main_one_first() -> None:
    """Each state counts once, however long its vector is."""
    number = 100
    often = [axis for axis in range(number) for _ in range(number - axis)]
    states = np.eye(number)[often] * np.linspace(0.1, 9, len(often))[:, None]

    assert np.abs(main_directions(states)) == pytest.approx(np.eye(number)[:, :DIMENSIONS])
