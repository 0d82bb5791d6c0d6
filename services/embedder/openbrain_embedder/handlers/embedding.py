"""Turn memories into vectors: read the row, cut it into model inputs, embed those without a known vector.

The event only says which row to read, so duplicates, reordering and replay change nothing.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

import structlog

from openbrain.domain.errors import SetupError, TryLater
from openbrain.domain.events.data import MemoryStored
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.ids import content_hash, given_input
from openbrain.domain.memory import MICROSECONDS, Change, Memory
from openbrain.domain.text.passages import header
from openbrain.observability.metrics import EMBEDDER_CHARACTERS, EMBEDDER_INPUTS
from openbrain.ports.clock import Clock
from openbrain.ports.models import Embedder, Encoding, TokenEncoder
from openbrain.ports.store.index_entries import Embedded, Vectors
from openbrain.ports.store.memories import Memories
from openbrain.ports.store.store import Store
from openbrain.usecases.indexes.encoding import Encoder

Stored = TypeVar("Stored", bound=MemoryStored)
Inputs = Mapping[str, str]
"""Model inputs by their hash."""
Failures = Mapping[str, Exception]
"""Why inputs could not be embedded, by memory id or by input hash. `TryLater`: the model was unavailable."""

SAVE_EVERY = MICROSECONDS // 4
"""Time between saves; a crash loses at most this much of the model's work."""

LONG_CHARS = 5_000
"""Cutting a text of this length takes several milliseconds: too long for the event loop."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Document:
    """A memory as the model will read it."""

    memory: Memory
    event: CloudEvent[Any]
    inputs: Inputs
    """In order. Identical passages appear once: their vectors would be the same."""

    @property
    def hashes(self) -> tuple[str, ...]:
        return tuple(self.inputs)

    def embedded(self) -> Embedded:
        return Embedded(
            memory_id=self.memory.id,
            workspace_id=self.memory.workspace_id,
            revision=self.memory.revision,
            input_hashes=self.hashes,
            causation_id=self.event.causationid,
            traceparent=self.event.traceparent,
            # Events for a generation other than the serving one may be as many as there are memories.
            bulk=vars(self.event.data).get("generation") is not None,
            version=self.memory.version,
        )


async def embed_stored(
    events: Sequence[CloudEvent[Stored]],
    *,
    store: Store,
    embedder: Embedder,
    clock: Clock,
    batch: int,
    tokens: TokenEncoder | None = None,
    anew: bool = False,
    given: bool = False,
) -> Failures:
    """Save the vectors of these memories by their current rows, with token states if `tokens` is given. The model gets
    `batch` inputs per call.

    Each input is embedded once, however many memories share it; a memory whose inputs are all known needs no model.
    `anew`: embed and replace known vectors too. `given`: use vectors that came with an import.
    """
    documents = await _documents(events, store.memories, embedder)
    if not documents:
        return {}
    model = await _model_key(embedder)
    if given:
        documents = await _with_given(documents, store.vectors, model)
    encoder = Encoder(embedder, tokens)
    waiting: Sequence[Document] = documents
    known = frozenset[str]()
    if not anew:
        waiting, known = await _save_known(documents, store.vectors, model, encoder.states_version)
    saving = _Saving(store.vectors, model, clock, replace=anew)
    return await _embed_missing(waiting, set(known), saving, encoder=encoder, batch=batch)


async def embed_known(
    events: Sequence[CloudEvent[Stored]], *, store: Store, embedder: Embedder, model: str, given: bool = False
) -> Failures:
    """Save memories whose vectors are all known while the model is unavailable; `TryLater` for the others.

    `model`: the key of the model's identity, because the model can't be asked for it.
    """
    documents = await _documents(events, store.memories, embedder)
    if given:
        documents = await _with_given(documents, store.vectors, model)
    waiting, _ = await _save_known(documents, store.vectors, model)
    return {item.memory.id: TryLater("the model is unavailable, and not all vectors are known") for item in waiting}


async def _save_known(
    documents: Sequence[Document], vectors: Vectors, model: str, states: bytes = b""
) -> tuple[Sequence[Document], frozenset[str]]:
    """Save and announce the documents whose inputs are all known; the other documents, and the known inputs."""
    known = await vectors.known([item for document in documents for item in document.hashes], model, states)
    EMBEDDER_INPUTS.labels("known").inc(len(known))
    ready = [document for document in documents if known.issuperset(document.hashes)]
    if ready:
        await vectors.save({}, [document.embedded() for document in ready], model)
    return [document for document in documents if not known.issuperset(document.hashes)], known


async def _documents(events: Sequence[CloudEvent[Stored]], memories: Memories, embedder: Embedder) -> list[Document]:
    """One document for each active memory that wants a vector. Events of duplicates are skipped: they change no row."""
    latest = {event.data.memory_id: event for event in events if event.data.change is not Change.DUPLICATE}
    rows = await memories.indexable(list(latest))
    if len(rows) < len(latest):
        _log.info("embedder.unknown_memories", count=len(latest) - len(rows))
    documents = []
    for row in (rows[item] for item in latest if item in rows):
        if not row.ended and row.wants_vector:
            texts = await _passages(row, embedder)
            documents.append(Document(row, latest[row.id], {content_hash(text): text for text in texts}))
    return documents


async def _with_given(documents: Sequence[Document], vectors: Vectors, model: str) -> list[Document]:
    """If an import came with a vector, use it for the memory's only passage."""
    own = {
        given_input(document.memory.id, document.memory.content_hash): document
        for document in documents
        if len(document.inputs) == 1
    }
    known = await vectors.known(list(own), model)
    given = {own[name].memory.id: name for name in known}
    return [
        replace(document, inputs={given[document.memory.id]: next(iter(document.inputs.values()))})
        if document.memory.id in given
        else document
        for document in documents
    ]


async def _passages(memory: Memory, embedder: Embedder) -> Sequence[str]:
    if len(memory.content) < LONG_CHARS:
        return embedder.passages(memory.content, header(memory))
    return await asyncio.to_thread(embedder.passages, memory.content, header(memory))


async def _model_key(embedder: Embedder) -> str:
    try:
        return (await embedder.identity()).key
    except SetupError as error:
        # A wrong setup is reported at start. If it arises later, the memories are not at fault: retry them.
        raise TryLater(str(error)) from error


async def _embed_missing(
    waiting: Sequence[Document], done: set[str], saving: "_Saving", *, encoder: Encoder, batch: int
) -> Failures:
    """Embed slice by slice; if the model becomes unavailable, save what is done and return `TryLater` for the rest."""
    missing = {name: text for item in waiting for name, text in item.inputs.items() if name not in done}
    refused: dict[str, Exception] = {}
    for some in _slices(missing, batch):
        try:
            encodings, failures = await _encode(some, encoder)
        except TryLater as error:
            await saving.rest()
            return {**{item.memory.id: error for item in waiting}, **_by_memory(waiting, refused)}
        refused |= failures
        done |= encodings.keys()
        EMBEDDER_INPUTS.labels("model").inc(len(encodings))
        EMBEDDER_INPUTS.labels("refused").inc(len(failures))
        EMBEDDER_CHARACTERS.inc(sum(len(some[name]) for name in encodings))
        finished = [item for item in waiting if done.issuperset(item.hashes)]
        waiting = [item for item in waiting if not done.issuperset(item.hashes)]
        await saving.add(encodings, finished)
    await saving.rest()
    return _by_memory(waiting, refused)


class _Saving:
    """Embeddings not saved yet: one transaction for many slices of a fast model, one per slice of a slow model."""

    def __init__(self, cache: Vectors, model: str, clock: Clock, *, replace: bool = False) -> None:
        self._cache, self._model, self._clock, self._replace = cache, model, clock, replace
        self._encodings: dict[str, Encoding] = {}
        self._documents: list[Document] = []
        self._saved_at = clock.now()

    async def add(self, encodings: Mapping[str, Encoding], documents: Sequence[Document]) -> None:
        self._encodings |= encodings
        self._documents += documents
        if self._clock.now() - self._saved_at >= SAVE_EVERY:
            await self.rest()

    async def rest(self) -> None:
        if self._encodings or self._documents:
            embedded = [document.embedded() for document in self._documents]
            vectors = {name: encoding.vector for name, encoding in self._encodings.items()}
            states = {name: encoding.states for name, encoding in self._encodings.items() if encoding.states}
            await self._cache.save(vectors, embedded, self._model, states=states, replace=self._replace)
        self._encodings, self._documents, self._saved_at = {}, [], self._clock.now()


async def _encode(inputs: Inputs, encoder: Encoder) -> tuple[dict[str, Encoding], dict[str, Exception]]:
    """Encodings and errors by hash. An input that the model refuses does not fail the others of its batch."""
    try:
        return dict(zip(inputs, await encoder.documents(list(inputs.values())), strict=True)), {}
    except TryLater:
        raise
    except Exception as error:  # noqa: BLE001 - halves are tried until each input has its own error
        if len(inputs) == 1:
            return {}, dict.fromkeys(inputs, error)
    encodings: dict[str, Encoding] = {}
    failures: dict[str, Exception] = {}
    for half in _slices(inputs, (len(inputs) + 1) // 2):
        encoded, failed = await _encode(half, encoder)
        encodings |= encoded
        failures |= failed
    return encodings, failures


def _slices(inputs: Inputs, size: int) -> Iterator[Inputs]:
    items = iter(inputs.items())
    while some := dict(islice(items, size)):
        yield some


def _by_memory(documents: Sequence[Document], refused: Failures) -> Failures:
    return {document.memory.id: refused[name] for document in documents for name in document.hashes if name in refused}
