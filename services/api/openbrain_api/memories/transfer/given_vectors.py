"""Vectors in an imported file: used for their own memories only, and only if made by the serving model."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import OpenBrainError, TryLater
from openbrain.domain.ids import given_input, transfer_id
from openbrain.domain.memory import Memory
from openbrain.domain.text.passages import header
from openbrain.ports.models import Embedder
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.index_entries import Embedded
from openbrain.usecases.auth import Actor
from openbrain.usecases.remember import normalised
from openbrain.usecases.transfer.lines import MemoryLine
from openbrain_api.api import Api

LONG_CHARS = 5_000
"""A text of this length has several passages for sure, and would take long to split."""
SAME = 0.9
"""Least cosine between an imported vector and ours of the same text: other quantisations of the model are above it,
other models far below."""
_LONG = "a text has several passages, and each has a vector of its own here"
Given = tuple[MemoryLine, Memory]
"""A line with a vector, and the memory stored from it."""


class Left(Exception):
    """A vector is not used; the message says why."""


@dataclass(kw_only=True)
class GivenVectors:
    """The vectors of one import."""

    api: Api
    actor: Actor
    dry_run: bool
    taken: int = field(default=0, init=False)
    left: int = field(default=0, init=False)
    problem: str | None = field(default=None, init=False)
    """Why the first unused vector was not used."""
    _away: str = field(default="", init=False)
    """Why the model did not answer; then it is not asked again."""

    async def take(self, stored: Sequence[Given]) -> None:
        """Store the vectors of these lines, and count them; a dry run only counts."""
        with_vectors = [(line, memory) for line, memory in stored if line.vector is not None]
        given = [(line, memory) for line, memory in with_vectors if len(line.content) < LONG_CHARS]
        if len(given) < len(with_vectors):
            self._leave(len(with_vectors) - len(given), _LONG)
        if not given:
            return
        first = given[0][0]
        try:
            generation, embedder = await self._model(first)
        except (Left, OpenBrainError) as why:
            if isinstance(why, TryLater):
                self._away = str(why)
            self._leave(len(given), str(why))
            return
        vectors: dict[str, array[float]] = {}
        embedded = []
        for line, memory in given if self.dry_run else await self._rows(given):
            try:
                vector = _unit(line, first.vector_model, generation.dimensions)
                _check_text(line, memory, embedder)
            except Left as why:
                self._leave(1, str(why))
                continue
            name = given_input(memory.id, memory.content_hash)
            vectors[name] = vector
            embedded.append(_embedded(memory, name))
        self.taken += len(vectors)
        if vectors and not self.dry_run:
            await self.api.store.vectors.save(vectors, embedded, generation.model)

    async def _rows(self, given: Sequence[Given]) -> Sequence[Given]:
        """The lines with their current rows, whose ids here may differ from those in the file."""
        workspace = self.actor.workspace_id
        ids = {memory.id: (memory.id, transfer_id(workspace, memory.id)) for _, memory in given}
        rows = await self.api.store.memories.rows([name for names in ids.values() for name in names])
        pairs = []
        for line, memory in given:
            stored = [rows[name] for name in ids[memory.id] if name in rows]
            pairs += [(line, row) for row in stored if row.workspace_id == workspace][:1]
        return pairs

    def _leave(self, count: int, why: str) -> None:
        self.left += count
        self.problem = self.problem or why

    async def _model(self, line: MemoryLine) -> tuple[Generation, Embedder]:
        """The serving generation and its model. Raise `Left` if the vectors are not of that model."""
        if Permission.ADMIN not in self.actor.permissions:
            raise Left("vectors are used with an admin key only")
        if self._away:
            raise Left(self._away)
        generation = await self.api.store.generations.serving(IndexKind.VECTOR)
        if generation is None:
            raise Left("there is no vector index yet")
        embedder = await self.api.embedders.ready(generation)
        identity = await embedder.identity()
        if _bare(line.vector_model) != _bare(identity.name):
            raise Left(
                f"they are of {line.vector_model or 'a model without a name'}, and the index has {identity.name}"
            )
        # The name proves nothing: compare the vector of one text with ours, with and without our prompt.
        theirs = _unit(line, line.vector_model, generation.dimensions)
        ours = await embedder.embed([line.content, embedder.passages(line.content, "")[0]])
        cosine = max(sum(one * other for one, other in zip(own, theirs, strict=True)) for own in ours)
        if cosine < SAME:
            raise Left(f"{line.vector_model} makes another vector of the first of these texts (cosine {cosine:.2f})")
        return generation, embedder


def _embedded(memory: Memory, name: str) -> Embedded:
    return Embedded(
        memory_id=memory.id,
        workspace_id=memory.workspace_id,
        revision=memory.revision,
        input_hashes=(name,),
        bulk=True,
        version=memory.version,
    )


def _unit(line: MemoryLine, model: str, dimensions: int) -> "array[float]":
    if line.vector_model != model:
        raise Left(f"some are of the model {model}, and some of {line.vector_model}")
    numbers = line.vector or ()
    if len(numbers) != dimensions:
        raise Left(f"they have {len(numbers)} numbers, and those of the index {dimensions}")
    length = sum(number * number for number in numbers) ** 0.5
    if not 0 < length < float("inf"):
        raise Left("one is zero, or too long")
    return array("f", [number / length for number in numbers])


def _check_text(line: MemoryLine, memory: Memory, embedder: Embedder) -> None:
    if memory.content not in {line.content, normalised(line.content)}:
        raise Left("the content policy changed a text")
    if not memory.wants_vector or memory.reason is not None or memory.deleted_at is not None:
        raise Left("a memory has ended, or wants no vector")
    if len(embedder.passages(memory.content, header(memory))) > 1:
        raise Left(_LONG)


def _bare(model: str) -> str:
    return model.lower().removesuffix(":latest")
