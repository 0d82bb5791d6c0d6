"""From a text to its vector, on a small MPNet: whose numbers the tokens get, what is averaged, what is refused."""

import dataclasses
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openbrain.adapters.embedding import mpnet, wordpiece
from openbrain.adapters.embedding.embedded_models import EMBEDDED_MODELS, embedded_model
from openbrain.adapters.embedding.mpnet.graph import encoder
from openbrain.adapters.embedding.onnx_sentences import OnnxSentences, SentenceModel, firsts, run
from openbrain.domain.errors import SetupError
from tests.support.embedder.mpnet_samples import HIDDEN, SHAPE, TINY, Exact
from tests.unit.embedder.test_mpnet_graph import forward

TEXT = "The unit vector of ☃ naïve text"


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    with path.open("wb") as out:
        encoder(TINY, SHAPE, Exact()).save(out)
    return path


def kind(weights: Path) -> SentenceModel:
    """MPNet's own, but for the file, the width and the window."""
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    return dataclasses.replace(
        mpnet.KIND,
        identity=dataclasses.replace(mpnet.KIND.identity, digest=digest, dimensions=HIDDEN),
        model=dataclasses.replace(mpnet.KIND.model, token_limit=SHAPE.tokens),
    )


@pytest.fixture
async def small(weights: Path) -> AsyncIterator[OnnxSentences]:
    opened = OnnxSentences(kind(weights), lambda: weights)
    yield opened
    await opened.close()


def expected(rows: list[list[int]]) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The unit vector of the mean of all tokens; of several rows the direction between theirs."""
    means = [forward(TINY, SHAPE, row).astype(np.float64).mean(axis=0) for row in rows]
    total = np.sum([mean / np.linalg.norm(mean) for mean in means], axis=0)
    return np.asarray(total / np.linalg.norm(total))


def test_bert_s_vocabulary_stands_four_later_between_mpnet_s_own_signs() -> None:
    ids = wordpiece.ids(TEXT)

    assert wordpiece.BERT.framed(ids) == [101, *ids, 102]
    assert wordpiece.MPNET.framed(ids) == [0, *(number + 4 for number in ids), 2]
    assert wordpiece.ids("☃") == [wordpiece.tokenizer().token_to_id("[UNK]")]


async def test_a_vector_is_the_mean_of_all_tokens(small: OnnxSentences) -> None:
    row = [0, *(number + 4 for number in wordpiece.ids(TEXT)), 2]
    short, vector, question = *await small.embed(["short", TEXT]), await small.embed_query(TEXT)

    assert list(vector) == pytest.approx(expected([row]).tolist(), abs=2e-5)
    assert list(question) == pytest.approx(list(vector), abs=2e-5)
    assert list(short) != pytest.approx(list(vector), abs=0.01)


async def test_a_model_may_put_all_into_the_first_token(weights: Path) -> None:
    by_first = OnnxSentences(dataclasses.replace(kind(weights), pooled=firsts), lambda: weights)
    row = [0, *(number + 4 for number in wordpiece.ids(TEXT)), 2]
    first = forward(TINY, SHAPE, row).astype(np.float64)[0]

    assert list((await by_first.embed([TEXT]))[0]) == pytest.approx((first / np.linalg.norm(first)).tolist(), abs=2e-5)
    await by_first.close()


@pytest.mark.parametrize(("batches", "rows"), [(True, [3]), (False, [1, 1, 1])])
async def test_where_a_batch_changes_numbers_each_text_is_run_alone(
    weights: Path, monkeypatch: pytest.MonkeyPatch, batches: bool, rows: list[int]
) -> None:
    given: list[int] = []

    def counted(session: Any, some: list[list[int]]) -> Any:
        given.append(len(some))
        return run(session, some)

    monkeypatch.setattr("openbrain.adapters.embedding.onnx_sentences.run", counted)
    opened = OnnxSentences(dataclasses.replace(kind(weights), batches=batches), lambda: weights)
    await opened.embed(["one", "two", "three"])
    await opened.close()

    assert given == rows


async def test_an_input_beyond_the_window_is_the_direction_between_its_parts(small: OnnxSentences) -> None:
    text = " ".join(f"word{number}" for number in range(SHAPE.tokens))
    ids = [number + 4 for number in wordpiece.ids(text)]
    most = SHAPE.tokens - 2
    rows = [[0, *ids[at : at + most], 2] for at in range(0, len(ids), most)]

    assert len(rows) > 1
    assert list((await small.embed([text]))[0]) == pytest.approx(expected(rows).tolist(), abs=5e-5)


async def test_a_file_that_was_changed_is_not_run(weights: Path, tmp_path: Path) -> None:
    changed = tmp_path / "model.onnx"
    changed.write_bytes(weights.read_bytes()[:-1] + b"x")

    with pytest.raises(SetupError, match=r"is not the model that was checked .*openbrain models install"):
        await OnnxSentences(kind(weights), lambda: changed).embed([TEXT])


async def test_a_file_that_onnxruntime_can_not_run_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "model.onnx"
    broken.write_bytes(b"no graph")

    with pytest.raises(SetupError, match=r"onnxruntime .* can't run .*: take 1\.22 or later"):
        await OnnxSentences(kind(broken), lambda: broken).identity()


def test_names_and_aliases_are_each_one_model() -> None:
    names = [name for each in EMBEDDED_MODELS for name in (each.name, *each.aliases)]

    assert len(set(names)) == len(names)
    assert [embedded_model(name.upper()) for name in names] == [
        each for each in EMBEDDED_MODELS for _ in (each.name, *each.aliases)
    ]
    assert embedded_model("").name == "all-minilm", "the default needs no installation"
    assert len({each.kind.identity.key for each in EMBEDDED_MODELS}) == len(EMBEDDED_MODELS)
