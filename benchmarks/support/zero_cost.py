"""The parts of a system whose document embedder costs nothing: it returns precomputed vectors."""

from array import array
from collections.abc import Sequence

import numpy as np

from benchmarks.support.texts import texts
from openbrain.adapters.embedding.minilm import IDENTITY, MiniLM
from openbrain.ports.index import Checked
from openbrain.ports.models import Beside, Encoding, ModelIdentity, QueryEncoding, TokenSimilarity
from openbrain.runtime.container import Container
from openbrain.settings import Settings

POOL = 4096
TEXTS = 64


class ZeroCost:
    """Port `Embedder` with MiniLM's identity: documents get one of 4,096 unit vectors, questions real ones.

    The model is loaded when the first question is asked.
    """

    def __init__(self) -> None:
        self._real = MiniLM()
        made = np.random.default_rng(1).standard_normal((POOL, 384)).astype(np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        self._vectors = [array("f", row.tobytes()) for row in made]

    async def identity(self) -> ModelIdentity:
        return IDENTITY

    async def unchanged(self) -> bool:
        return True

    def passages(self, text: str, header: str) -> Sequence[str]:
        return [f"{header}\n{text}"]

    async def embed(self, inputs: Sequence[str]) -> Sequence["array[float]"]:
        return [self._vectors[hash(text) % POOL] for text in inputs]

    async def embed_query(self, query: str) -> "array[float]":
        return await self._real.embed_query(query)

    async def embed_queries(self, queries: Sequence[str]) -> Sequence["array[float]"]:
        return await self._real.embed_queries(queries)

    async def check(self) -> Checked:
        return Checked("zero cost", "1", ())

    async def close(self) -> None:
        await self._real.close()


class ZeroCostStates(ZeroCost):
    """Also port `TokenEncoder`: documents get the token states of one of 64 texts."""

    version = MiniLM.version

    def __init__(self) -> None:
        super().__init__()
        self._states: list[bytes] = []

    async def encode(self, inputs: Sequence[str]) -> Sequence[Encoding]:
        if not self._states:
            self._states = [each.states for each in await self._real.encode(texts(TEXTS))]
        vectors = await self.embed(inputs)
        states = (self._states[hash(text) % TEXTS] for text in inputs)
        return [Encoding(*both) for both in zip(vectors, states, strict=True)]

    async def encode_queries(self, queries: Sequence[str]) -> Sequence[QueryEncoding]:
        return await self._real.encode_queries(queries)

    def similarities(
        self, question: "array[float]", documents: Sequence[Sequence[bytes]], beside: Sequence[Beside] = ()
    ) -> Sequence[TokenSimilarity | None]:
        return self._real.similarities(question, documents, beside)


def zero_cost_parts(settings: Settings, embedder: ZeroCost | None = None) -> Container:
    """For `openbrain_cli.system.embedded.pipeline.running`: without token states, which would need a run of the
    model."""
    container = Container(settings, shared=True)
    container.__dict__.update(embedder=embedder or ZeroCost(), token_encoder=None)
    return container


def zero_cost_parts_with_states(settings: Settings) -> Container:
    """`zero_cost_parts` with token states."""
    container, embedder = Container(settings, shared=True), ZeroCostStates()
    container.__dict__.update(embedder=embedder, token_encoder=embedder)
    return container
