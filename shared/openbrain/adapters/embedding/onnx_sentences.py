"""A sentence model on onnxruntime inside this process: tokenizing, batching, pooling, passages. No network."""

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
"""Maximum tokens per run, padding included: more is not faster on one thread, and takes memory."""
QUERY_TOKENS_A_RUN = 256
"""Maximum tokens of queries per run, padding included: some 20 short queries delay a single one by at most 0.1 s."""

GATHER_S = 0.03
"""Longest time that a query waits for others while the event loop is busy: several in one run take less time."""

PADDING = -1

T = TypeVar("T")


def means(states: "NDArray[Any]", tokens: "NDArray[Any]") -> "NDArray[Any]":
    """Return the mean of each row's states without padding: (rows, dimensions)."""
    mask = (tokens != PADDING).astype(np.float32)
    mean: NDArray[Any] = np.einsum("rtd,rt->rd", states, mask) / mask.sum(axis=1, keepdims=True)
    return mean


def firsts(states: "NDArray[Any]", _tokens: "NDArray[Any]") -> "NDArray[Any]":
    """Return the state of each row's first token: some models are trained to represent the whole text there."""
    first: NDArray[Any] = states[:, 0]
    return first


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceModel:
    """A model with BERT's vocabulary. `identity.digest` is the sha256 of its single weights file."""

    product: str
    identity: ModelIdentity
    model: Model
    remedy: str
    """The advice if the file is missing or differs."""
    pooled: Callable[["NDArray[Any]", "NDArray[Any]"], "NDArray[Any]"] = means
    """Computes each row's vector from its states and tokens."""
    batches: bool = True
    """False if a row's result depends on the rest of its batch: then each row runs alone."""


class OnnxSentences:
    """Port `Embedder`. Documents and queries have a thread each, so that no query waits for a batch of documents."""

    def __init__(self, kind: SentenceModel, weights: Callable[[], Path], *, threads: int = 1) -> None:
        """`weights` returns the file's path, at first use; `threads` is the number of threads per run."""
        self._kind = kind
        self._weights = weights
        self._threads = threads
        self._session: Any = None
        self._loading = Lock()
        self._documents = ModelThread("model-documents", TOKENS_A_RUN if kind.batches else 0)
        self._queries = (
            ModelThread("model-queries", QUERY_TOKENS_A_RUN, gather_s=GATHER_S)
            if kind.batches
            else ModelThread("model-queries", 0)
        )

    async def identity(self) -> ModelIdentity:
        if self._session is None:
            await self._queries.call(self._loaded)
        return self._kind.identity

    async def unchanged(self) -> bool:
        return True  # the file is checked when it is loaded, and not read again

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
        """Run `work` on each distinct input once."""
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
        # An input longer than the window gets the mean direction of its pieces.
        return [mean_direction([self._vectors([[piece]])[0] for piece in texts[0]])]

    def _run(self, rows: list[list[int]]) -> tuple["NDArray[Any]", "NDArray[Any]"]:
        return run(self._loaded(), rows)

    def _pieces(self, text: str) -> Pieces:
        most = self._kind.model.token_limit - SPECIAL_TOKENS
        ids = wordpiece.ids(break_words(text, self._kind.model.word_chars))
        return [wordpiece.framed(ids[cut : cut + most]) for cut in range(0, max(1, len(ids)), most)]


def packaged(package: str, file: str, otherwise: str) -> Path:
    """Return the path of a file in an installed package, without importing it. `SetupError` if it is not installed."""
    try:
        return Path(str(metadata.distribution(package).locate_file(file)))
    except metadata.PackageNotFoundError:
        raise SetupError(otherwise) from None


def check_weights(path: Path, digest: str, remedy: str) -> None:
    """Raise `SetupError` if the file is missing or its digest differs."""
    try:
        with path.open("rb") as weights:
            actual = hashlib.file_digest(weights, "sha256").hexdigest()
    except OSError as error:
        raise SetupError(f"the embedded model can't be read at {path} ({error.strerror}): {remedy}") from None
    if actual != digest:
        raise SetupError(f"{path} is not the model that was checked (sha256 {digest}): {remedy}")


def session(path: Path, threads: int) -> Any:
    """Return an onnxruntime session. `SetupError` if onnxruntime, or this model on it, does not run here."""
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError:
        raise SetupError("onnxruntime does not run here: install it, or set the URL of Ollama") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while waiting take cores from other threads.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Both keep the memory of the largest batch so far, and are not faster.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - it raises a class of its own for each code
        version = onnxruntime.__version__
        raise SetupError(
            f"onnxruntime {version} can't run {path} ({type(error).__name__}): take 1.22 or later"
        ) from None


def run(session: Any, rows: list[list[int]]) -> tuple["NDArray[Any]", "NDArray[Any]"]:
    """Return the states of all tokens (rows, tokens, dimensions), and the token ids (rows, tokens), padded with -1."""
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
