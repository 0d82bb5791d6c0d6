"""What every embedder guarantees, on each one that can run here."""

import asyncio
import dataclasses
import math
import re
from array import array
from collections.abc import AsyncIterator, Iterator

import pytest
from structlog.testing import capture_logs

from openbrain.adapters.embedding import bge
from openbrain.adapters.embedding.minilm import MiniLM
from openbrain.adapters.embedding.ollama import Ollama
from openbrain.adapters.embedding.onnx_sentences import OnnxSentences
from openbrain.ports.models import Embedder
from tests.support.waiting import PATIENCE_S

HEADER = "8 May 2023 Monday Caroline:"
TEXTS = [
    "The deploy moved to Thursday because Caroline is ill.",
    "A cat sleeps on the mat.",
    "Redis streams keep entries until they are trimmed from the head.",
    "Ein Satz auf Deutsch über Käse.",
    "Crème brûlée, naïve café, “quoted” and x=y+z <tag> ^$|~",
    "Party 🎉👩‍👩‍👧 at eight",
    "東京は日本の首都です。",
    "Москва — столица России.",
    "short",
    "One two three. " * 12,
]


@pytest.fixture(scope="module")
def opened() -> Iterator[dict[str, OnnxSentences]]:
    """The in-process models, opened once: they keep nothing of what they embed, and take seconds to load."""
    models: dict[str, OnnxSentences] = {}
    yield models
    for model in models.values():
        asyncio.run(model.close())


@pytest.fixture(params=["minilm", "bge", "ollama"])
async def embedder(request: pytest.FixtureRequest, opened: dict[str, OnnxSentences]) -> AsyncIterator[Embedder]:
    if request.param == "ollama":
        ollama = Ollama(request.getfixturevalue("ollama_server").url, "all-minilm", batch=8)
        yield ollama
        await ollama.close()
        return
    if request.param not in opened and request.param == "bge":
        weights = request.getfixturevalue("bge_weights")
        opened["bge"] = OnnxSentences(bge.KIND, lambda: weights)
    elif request.param not in opened:
        opened["minilm"] = MiniLM()
    yield opened[request.param]


def cosine(one: "array[float]", other: "array[float]") -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def length(vector: "array[float]") -> float:
    return math.sqrt(cosine(vector, vector))


async def test_vectors_have_length_one_and_the_dimensions_of_the_identity(embedder: Embedder) -> None:
    vectors = await embedder.embed(TEXTS)
    dimensions = (await embedder.identity()).dimensions

    assert {len(vector) for vector in vectors} == {dimensions}
    assert all(vector.typecode == "f" for vector in vectors)
    assert [length(vector) for vector in vectors] == pytest.approx([1] * len(TEXTS), abs=1e-5)


async def test_a_batch_equals_single_calls_in_any_order(embedder: Embedder) -> None:
    together = await embedder.embed(TEXTS)
    backwards = await embedder.embed(TEXTS[::-1])
    alone = [(await embedder.embed([text]))[0] for text in TEXTS]

    for one, other, single in zip(together, reversed(backwards), alone, strict=True):
        assert cosine(one, single) > 0.9999
        assert cosine(other, single) > 0.9999
    assert max(cosine(together[0], other) for other in together[1:]) < 0.9, "different texts have different vectors"


async def test_identical_texts_get_one_vector(embedder: Embedder) -> None:
    one, other, again = await embedder.embed([TEXTS[0], TEXTS[1], TEXTS[0]])

    assert one == again
    assert one != other


async def test_nothing_to_embed_is_no_work(embedder: Embedder) -> None:
    assert list(await embedder.embed([])) == []


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("On which day is the deploy?", 0),
        ("Where does the animal rest?", 1),
        ("How long does a stream keep its entries?", 2),
        ("What is the capital of Japan? 東京", 6),
    ],
)
async def test_a_question_is_nearest_to_its_answer(embedder: Embedder, question: str, answer: int) -> None:
    documents = await embedder.embed([embedder.passages(text, HEADER)[0] for text in TEXTS])
    query = await embedder.embed_query(question)

    scores = [cosine(query, document) for document in documents]

    assert scores.index(max(scores)) == answer
    assert length(query) == pytest.approx(1, abs=1e-5)


async def test_many_questions_get_the_vectors_that_each_gets_alone(embedder: Embedder) -> None:
    beyond_the_window = "Where is the launch code kept? " * 100
    questions = [
        *TEXTS,
        "Where is it?",
        "",
        beyond_the_window,
        *(f"question {number}" for number in range(20)),
        TEXTS[0],
    ]

    together = await embedder.embed_queries(questions)

    assert len(together) == len(questions)
    assert together[0] == together[-1]
    for question, vector in zip(questions, together, strict=True):
        assert cosine(vector, await embedder.embed_query(question)) > 0.9999
    assert list(await embedder.embed_queries([])) == []


async def test_every_passage_of_a_long_text_is_embedded_whole(embedder: Embedder) -> None:
    text = "Nothing happens here, and nothing will. " * 150 + "The launch code is kept in the blue safe."

    passages = embedder.passages(text, HEADER)
    with capture_logs() as logs:
        vectors = await embedder.embed(passages)
    query = await embedder.embed_query("Where is the launch code kept?")

    scores = [cosine(query, vector) for vector in vectors]
    assert len(passages) > 3
    assert scores.index(max(scores)) == len(passages) - 1, "the end of the text is found by its words"
    assert [line["event"] for line in logs if line["event"] == "embedder.input_halved"] == [], "no passage is too long"


async def test_an_input_beyond_the_window_is_embedded_with_all_its_parts(embedder: Embedder) -> None:
    filler = "Nothing happens here. " * 100

    plain, with_end = await embedder.embed([filler, filler + "The launch code is in the blue safe. " * 20])
    query = await embedder.embed_query("Where is the launch code?")

    assert length(with_end) == pytest.approx(1, abs=1e-5)
    assert cosine(query, with_end) > cosine(query, plain) + 0.05


@pytest.mark.parametrize("text", ["", " ", "\n", "\t ", ".", "\u200b", "\ufeff"])
async def test_a_text_of_almost_nothing_has_a_vector(embedder: Embedder, text: str) -> None:
    inputs = embedder.passages(text, "")

    (vector,) = await embedder.embed(inputs)

    assert length(vector) == pytest.approx(1, abs=1e-5)


async def test_a_word_of_4000_letters_is_embedded_and_quickly(embedder: Embedder) -> None:
    first, second = "ab" * 2000, "xy" * 2000

    async with asyncio.timeout(PATIENCE_S):
        one, other = await embedder.embed([first, second])
        passages = await embedder.embed(embedder.passages(first, HEADER))

    assert cosine(one, other) < 0.99, "two long words are not the same unknown word"
    assert len(passages) > 3


async def test_accents_are_read(embedder: Embedder) -> None:
    accented, plain, other = await embedder.embed(
        ["crème brûlée “déjà vu” x=y", "creme brulee “ deja vu ” x = y", "cr"]
    )

    assert cosine(accented, plain) > 0.98
    assert cosine(accented, other) < 0.9


async def test_identity_is_stable_and_its_key_fits_a_column(embedder: Embedder) -> None:
    identity = await embedder.identity()

    assert identity == await embedder.identity()
    assert len(identity.key) <= 64
    assert set(identity.key) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")
    changed = [
        dataclasses.replace(identity, **change)
        for change in ({"prompt_version": 9}, {"splitter_version": 9}, {"dimensions": 9}, {"digest": "9" * 64})
    ]
    assert len({identity.key, *(each.key for each in changed)}) == 5


async def test_check_names_product_and_version_and_finds_nothing_wrong(embedder: Embedder) -> None:
    checked = await embedder.check()

    assert re.search("minilm|bge", checked.product.lower())
    assert checked.version[0].isdigit()
    assert checked.problems == ()


async def test_questions_are_answered_while_documents_are_embedded(embedder: Embedder) -> None:
    await embedder.embed_query("warm up")
    documents = asyncio.create_task(_embed(embedder, [f"{number} {TEXTS[9]}" for number in range(60)]))

    await embedder.embed_query("Where is it?")

    assert not documents.done(), "a question does not wait for the batch to end"
    assert len(await documents) == 60


async def _embed(embedder: Embedder, texts: list[str]) -> list["array[float]"]:
    return list(await embedder.embed(texts))


@pytest.mark.servers("ollama")
async def test_both_run_the_same_model(request: pytest.FixtureRequest) -> None:
    """8-bit weights in process and 16-bit weights in Ollama come from the same original, so their vectors agree."""
    minilm, ollama = MiniLM(), Ollama(request.getfixturevalue("ollama_server").url, "all-minilm")

    pairs = zip(await minilm.embed(TEXTS), await ollama.embed(TEXTS), strict=True)

    assert min(cosine(one, other) for one, other in pairs) > 0.99
    assert (await minilm.identity()).key != (await ollama.identity()).key
    await minilm.close()
    await ollama.close()
