"""A sentence model on onnxruntime, inside this process: tokens, runs, the mean of a row, passages. No network."""

import hashlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from openbrain.adapters.embedding import wordpiece
from openbrain.adapters.embedding.model_thread import ModelThread, Pieces, Texts, Work
from openbrain.adapters.embedding.models import Model
from openbrain.adapters.embedding.passages import SPECIAL_TOKENS, break_words, passages
from openbrain.adapters.embedding.unit_vectors import mean_direction, unit_vectors
from openbrain.domain.errors import SetupError
from openbrain.ports.index import Checked
from openbrain.ports.models import ModelIdentity

TOKENS_A_RUN = 512
"""Padding included: more at once is not faster on one thread, and takes memory."""
QUERY_TOKENS_A_RUN = 256
"""Tokens of questions, padding included: of many at once, some 20 short ones keep a single one waiting for 0.1 s."""

PADDING = -1

T = TypeVar("T")


def means(states: "NDArray[Any]", tokens: "NDArray[Any]") -> "NDArray[Any]":
    """The mean of each row's states, padding left out: (rows, dimensions)."""
    mask = (tokens != PADDING).astype(np.float32)
    mean: NDArray[Any] = np.einsum("rtd,rt->rd", states, mask) / mask.sum(axis=1, keepdims=True)
    return mean


def firsts(states: "NDArray[Any]", _tokens: "NDArray[Any]") -> "NDArray[Any]":
    """The state of each row's first token, which some models were trained to put all into."""
    first: NDArray[Any] = states[:, 0]
    return first


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceModel:
    """A model of BERT's vocabulary. `identity.digest` is the sha256 of the one file of weights."""

    product: str
    identity: ModelIdentity
    model: Model
    remedy: str
    """The advice where the file is missing or another."""
    pooled: Callable[["NDArray[Any]", "NDArray[Any]"], "NDArray[Any]"] = means
    """A row's vector, of its states and tokens."""
    batches: bool = True
    """False where a row's numbers depend on what else is in its batch: then each is run alone."""


class OnnxSentences:
    """Port `Embedder`. Documents and queries have a thread each, so that a question waits for no batch."""

    def __init__(self, kind: SentenceModel, weights: Callable[[], Path], *, threads: int = 1) -> None:
        """`weights` finds the file, upon first use; `threads` is what one run of the model uses."""
        self._kind = kind
        self._weights = weights
        self._threads = threads
        self._session: Any = None
        self._loading = Lock()
        self._documents = ModelThread("model-documents", TOKENS_A_RUN if kind.batches else 0)
        self._queries = ModelThread("model-queries", QUERY_TOKENS_A_RUN if kind.batches else 0)

    async def identity(self) -> ModelIdentity:
        if self._session is None:
            await self._queries.call(self._loaded)
        return self._kind.identity

    async def unchanged(self) -> bool:
        return True  # its file is checked when it is loaded, and is not read again

    def passages(self, text: str, header: str) -> Sequence[str]:
        return passages(text, header, self._kind.model)

    async def embed(self, inputs: Sequence[str]) -> Sequence["array[float]"]:
        return await self._of_documents(self._vectors, inputs)

    async def embed_query(self, query: str) -> "array[float]":
        return (await self.embed_queries([query]))[0]

    async def embed_queries(self, queries: Sequence[str]) -> Sequence["array[float]"]:
        inputs = [self._kind.model.query_prompt + query for query in queries]
        return await self._queries.run(self._vectors, [self._pieces(text) for text in inputs])

    async def check(self) -> Checked:
        problems: tuple[str, ...] = ()
        try:
            await self.identity()
        except SetupError as error:
            problems = (str(error),)
        return Checked(self._kind.product, metadata.version("onnxruntime"), problems)

    async def close(self) -> None:
        for thread in (self._documents, self._queries):
            await thread.close()
        self._session = None

    async def _of_documents(self, work: Work[T], inputs: Sequence[str]) -> Sequence[T]:
        """The same input twice is run once."""
        different = list(dict.fromkeys(inputs))
        pieces = await self._documents.call(lambda: [self._pieces(text) for text in different])
        results = dict(zip(different, await self._documents.run(work, pieces), strict=True))
        return [results[text] for text in inputs]

    def _loaded(self) -> Any:
        with self._loading:
            if self._session is None:
                path = self._weights()
                check_weights(path, self._kind.identity.digest, self._kind.remedy)
                self._session = session(path, self._threads)
            return self._session

    def _vectors(self, texts: Texts) -> "list[array[float]]":
        if len(texts) > 1 or len(texts[0]) == 1:
            return unit_vectors(self._kind.pooled(*self._run([pieces[0] for pieces in texts])))
        # An input beyond the window counts with all its parts: the direction between their vectors.
        return [mean_direction([self._vectors([[piece]])[0] for piece in texts[0]])]

    def _run(self, rows: list[list[int]]) -> tuple["NDArray[Any]", "NDArray[Any]"]:
        return run(self._loaded(), rows)

    def _pieces(self, text: str) -> Pieces:
        most = self._kind.model.token_limit - SPECIAL_TOKENS
        ids = wordpiece.ids(break_words(text, self._kind.model.word_chars))
        return [wordpiece.framed(ids[cut : cut + most]) for cut in range(0, max(1, len(ids)), most)]


def packaged(package: str, file: str, otherwise: str) -> Path:
    """The path of a file of an installed package, of which nothing is imported; `SetupError` where there is none."""
    try:
        return Path(str(metadata.distribution(package).locate_file(file)))
    except metadata.PackageNotFoundError:
        raise SetupError(otherwise) from None


def check_weights(path: Path, digest: str, remedy: str) -> None:
    """`SetupError` where the file is missing or another one."""
    try:
        with path.open("rb") as weights:
            actual = hashlib.file_digest(weights, "sha256").hexdigest()
    except OSError as error:
        raise SetupError(f"the embedded model can't be read at {path} ({error.strerror}): {remedy}") from None
    if actual != digest:
        raise SetupError(f"{path} is not the model that was checked (sha256 {digest}): {remedy}")


def session(path: Path, threads: int) -> Any:
    """An onnxruntime session. `SetupError` where onnxruntime does not run here, or not this model."""
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError:
        raise SetupError("onnxruntime does not run here: install it, or set the URL of Ollama") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while they wait take the cores that others work on.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Both keep memory of the largest batches ever seen, and are not faster.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - it raises a class of its own for each code
        version = onnxruntime.__version__
        raise SetupError(
            f"onnxruntime {version} can't run {path} ({type(error).__name__}): take 1.22 or later"
        ) from None


def run(session: Any, rows: list[list[int]]) -> tuple["NDArray[Any]", "NDArray[Any]"]:
    """The states of all tokens (rows, tokens, dimensions), and the tokens (rows, tokens), padded with -1."""
    shape = len(rows), max(map(len, rows))
    tokens = np.full(shape, PADDING, np.int64)
    for number, row in enumerate(rows):
        tokens[number, : len(row)] = row
    there = tokens != PADDING
    given = {
        "input_ids": np.where(there, tokens, 0),
        "attention_mask": there.astype(np.int64),
        "token_type_ids": np.zeros_like(tokens),
    }
    (states,) = session.run(None, {item.name: given[item.name] for item in session.get_inputs()})
    return states, tokens
