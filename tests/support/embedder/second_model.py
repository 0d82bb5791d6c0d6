"""A second embedding model that needs no download: the real small one with each vector reversed.

Its vectors are as good as the first one's among themselves, but not comparable with them: a search that mixes the two
finds the wrong memories.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace

from openbrain.adapters.embedding.minilm import IDENTITY
from openbrain.domain.errors import ModelChanged, SetupError
from openbrain.ports.models import Embedder, ModelIdentity
from openbrain.usecases.indexes.embedders import Embedders
from tests.support.embedder.handler import WithFaults

SECOND = replace(IDENTITY, name="second", digest="5" * 64)


class Second(WithFaults):
    """The second model; `digest` stands for its weights, which may change under the same name, as on a server."""

    def __init__(self, digest: str = SECOND.digest) -> None:
        super().__init__()
        self.digest = digest
        self.now = digest
        """The digest that its name stands for now."""
        self.query_texts: list[str] = []

    async def identity(self) -> ModelIdentity:
        await super().identity()
        return replace(SECOND, digest=self.digest)

    async def unchanged(self) -> bool:
        return self.now == self.digest

    async def embed(self, inputs: Sequence[str]) -> Sequence["array[float]"]:
        self._require()
        return [_reversed(vector) for vector in await super().embed(inputs)]

    async def embed_queries(self, queries: Sequence[str]) -> Sequence["array[float]"]:
        self._require()
        self.query_texts += queries
        return [_reversed(vector) for vector in await super().embed_queries(queries)]

    def _require(self) -> None:
        if self.now != self.digest:
            raise ModelChanged("second was pulled again and is another model now")


def _reversed(vector: "array[float]") -> "array[float]":
    return vector[::-1]


def named(models: Mapping[str, Embedder], first: str) -> Embedders:
    """Return embedders for these models by name; `first` is the one that settings name."""

    def make(name: str) -> Embedder:
        if name not in models:
            raise SetupError(f"there is no model {name}: take one of {', '.join(models)}")
        return models[name]

    return Embedders(lambda: make(first), make, lambda name: name or first)
