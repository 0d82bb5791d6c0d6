"""Vectors and token states, from one model or from two."""

from array import array
from collections.abc import Sequence

from openbrain.ports.models import Embedder, Encoding, QueryEncoding, TokenEncoder


class Encoder:
    """Combines a model for vectors with an optional one for token states. If both are the same, one pass makes both."""

    def __init__(self, embedder: Embedder, tokens: TokenEncoder | None = None) -> None:
        self._embedder, self._tokens = embedder, tokens
        either: object = tokens
        self._one_pass = either is embedder

    @property
    def states_version(self) -> bytes:
        """b'' if no token states are made."""
        return b"" if self._tokens is None else self._tokens.version

    async def documents(self, inputs: Sequence[str]) -> Sequence[Encoding]:
        """Encode exact model inputs, in order. Raises like `Embedder.embed`."""
        if self._tokens is None:
            return [Encoding(vector, b"") for vector in await self._embedder.embed(inputs)]
        if self._one_pass:
            return await self._tokens.encode(inputs)
        vectors = await self._embedder.embed(inputs)
        states = [item.states for item in await self._tokens.encode(inputs)]
        return [Encoding(*both) for both in zip(vectors, states, strict=True)]

    async def queries(self, queries: Sequence[str]) -> Sequence[QueryEncoding]:
        """Encode questions, in order. Raises like `Embedder.embed_queries`."""
        if self._tokens is None:
            return [QueryEncoding(vector, array("f")) for vector in await self._embedder.embed_queries(queries)]
        if self._one_pass:
            return await self._tokens.encode_queries(queries)
        vectors = await self._embedder.embed_queries(queries)
        states = [encoded.states for encoded in await self._tokens.encode_queries(queries)]
        return [QueryEncoding(*both) for both in zip(vectors, states, strict=True)]
