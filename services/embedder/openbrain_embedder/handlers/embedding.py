"""Turn memories into vectors: read the row, split it into model inputs, embed those without a stored vector.

An event only says which row to read, so duplicates, reordering and replay change nothing.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

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
"""Model inputs (texts) by their hash."""
Failures = Mapping[str, Exception]
"""Why memories or inputs could not be embedded, by memory id or input hash. `TryLater`: the model was unreachable."""

SAVE_EVERY = MICROSECONDS // 4
"""Interval between saves, microseconds: a crash loses at most about this much of the model's work."""

LONG_CHARS = 5_000
"""Length from which a text is split in a thread: it takes some milliseconds, too long for the event loop."""

_log = structlog.get_logger(__name__)


class Document(NamedTuple):
    """A memory and its model inputs."""

    memory: Memory
    event: CloudEvent[Any]
    inputs: Inputs
    """In order. Identical passages are listed once: they have the same vector."""

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
            # Building another generation may embed all memories.
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
    """Save the vectors of the current rows of these memories, and token states if there is a `tokens` encoder.

    An input is embedded once, however many memories share it; inputs with a stored vector need no model. `batch`:
    inputs per request to the model. `anew`: embed again what has a vector, and replace it. `given`: use vectors that an
    import supplied.
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
    """Embed from stored vectors only, while the model is unreachable. Memories that need it fail with `TryLater`.

    `model`: the key of its identity, because the model can't be asked for it.
    """
    documents = await _documents(events, store.memories, embedder)
    if given:
        documents = await _with_given(documents, store.vectors, model)
    waiting, _ = await _save_known(documents, store.vectors, model)
    return {item.memory.id: TryLater("the model is away, and not all of its vectors are known") for item in waiting}


async def _save_known(
    documents: Sequence[Document], vectors: Vectors, model: str, states: bytes = b""
) -> tuple[Sequence[Document], frozenset[str]]:
    """Save and announce documents that need no model. Return the others, and the hashes of inputs with a vector."""
    known = await vectors.known([item for document in documents for item in document.hashes], model, states)
    EMBEDDER_INPUTS.labels("known").inc(len(known))
    ready = [document for document in documents if known.issuperset(document.hashes)]
    if ready:
        await vectors.save({}, [document.embedded() for document in ready], model)
    return [document for document in documents if not known.issuperset(document.hashes)], known


async def _documents(events: Sequence[CloudEvent[Stored]], memories: Memories, embedder: Embedder) -> list[Document]:
    """The documents of live memories that want a vector, each once. Events about duplicates are skipped: they changed
    no row."""
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
    """Use the vectors that an import supplied. Only a memory with a single passage can have one."""
    own = {
        given_input(document.memory.id, document.memory.content_hash): document
        for document in documents
        if len(document.inputs) == 1
    }
    known = await vectors.known(list(own), model)
    given = {own[name].memory.id: name for name in known}
    return [
        document._replace(inputs={given[document.memory.id]: next(iter(document.inputs.values()))})
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
        # A wrong setup is reported at startup. If the model disappears later, retry: the memories are not to blame.
        raise TryLater(str(error)) from error


async def _embed_missing(
    waiting: Sequence[Document], done: set[str], saving: "_Saving", *, encoder: Encoder, batch: int
) -> Failures:
    """Embed slice by slice. If the model becomes unreachable in between, keep what is done."""
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
    """Buffer of embeddings to save: one transaction for many slices of a fast model, or for each of a slow one."""

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
    """Return encodings and errors by hash. A refused batch is halved, so that one bad input fails alone."""
    try:
        return dict(zip(inputs, await encoder.documents(list(inputs.values())), strict=True)), {}
    except TryLater:
        raise
    except Exception as error:  # noqa: BLE001 - each input gets the error that is its own
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
