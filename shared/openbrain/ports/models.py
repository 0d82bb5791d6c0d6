"""Models: text to vector, and one question per tick."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from openbrain.ports.index import Checked


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelIdentity:
    """The identity of a model: only vectors of the same identity are comparable. The digest is included because the
    weights behind a name may change."""

    name: str
    digest: str
    dimensions: int
    prompt_version: int
    splitter_version: int

    @property
    def key(self) -> str:
        """At most 64 characters of [a-z0-9.-], unique per identity: fit for a column and for an index name."""
        slug = "".join(c if c.isalnum() else "-" for c in self.name.lower())[:24].strip("-")
        return f"{slug}-{self.digest[:12]}-{self.dimensions}-p{self.prompt_version}s{self.splitter_version}"

    def request(self) -> Mapping[str, Any]:
        """The request of a model-change operation for this model."""
        return {"model": self.key, "model_name": self.name, "dimensions": self.dimensions}


def cut_otherwise(key: str, other: str) -> bool:
    """True if two keys differ only in the splitter version: a question has the same vector under both."""
    return key != other and key.rpartition("s")[0] == other.rpartition("s")[0]


class Embedder(Protocol):
    """All methods raise `TryLater` while the model can't be reached."""

    async def identity(self) -> ModelIdentity:
        """Return the identity of the model that answers. The server is asked once. Raise `SetupError` if it is
        missing."""

    async def unchanged(self) -> bool:
        """True if the model under this name is still the one of `identity`. Vectors of another model are never
        returned."""

    def passages(self, text: str, header: str) -> Sequence[str]:
        """The exact model inputs of a document: prompt, header (date and speaker) and overlapping pieces of text,
        each within the model's token limit. At least one; nothing of the text is left out."""

    async def embed(self, inputs: Sequence[str]) -> Sequence["array[float]"]:
        """Return unit vectors of exact model inputs, in order. Raise `ModelChanged` if the model is not that of
        `identity`."""

    async def embed_query(self, query: str) -> "array[float]":
        """Return the unit vector of a question, embedded with the model's query prompt."""

    async def embed_queries(self, queries: Sequence[str]) -> Sequence["array[float]"]:
        """Return vectors of several questions, in order, cheaper than separate calls. Raise `NeverRetry` if one can't
        be embedded."""

    async def check(self) -> Checked: ...

    async def close(self) -> None: ...


class Encoding(NamedTuple):
    """A document's vector and its token states in stored form; b'' if none were made."""

    vector: "array[float]"
    states: bytes


class QueryEncoding(NamedTuple):
    """A question's vector and its token states, concatenated; empty if no model makes token states."""

    vector: "array[float]"
    states: "array[float]"


class TokenSimilarity(NamedTuple):
    """How similar a document is to a question, from words in their context; 1 at most."""

    among: float
    """Relative to the compared documents: a word that more of them share counts less, and words of related documents
    (`Beside`) count too."""
    alone: float
    """Absolute, with all words weighted equally: comparable between questions."""
    tokens: int
    """The number of token states of the document."""


Beside = tuple[int, int, float]
"""Indexes of two documents, and the weight in 0..1 with which a word of the second counts for the first."""


class TokenEncoder(Protocol):
    """A model that also returns token states: for each content word, its meaning in context."""

    @property
    def version(self) -> bytes:
        """The prefix of all states it makes. States of another version can't be used."""

    async def encode(self, inputs: Sequence[str]) -> Sequence[Encoding]:
        """Encode exact model inputs, in order, in one pass. The vectors equal those of `Embedder.embed` if the model is
        also an `Embedder`. States are never b''."""

    async def encode_queries(self, queries: Sequence[str]) -> Sequence[QueryEncoding]:
        """Encode questions, in order, in one pass."""

    def similarities(
        self, question: "array[float]", documents: Sequence[Sequence[bytes]], beside: Sequence[Beside] = ()
    ) -> Sequence[TokenSimilarity | None]:
        """Return the similarity of each document (given as the states of its passages), by its best passage; None if it
        has no states."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request to the model. `schema` (JSON Schema of an object) describes the wanted answer, without guarantee."""

    instructions: str
    prompt: str
    schema: Mapping[str, Any]
    schema_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """The model's answer, unchecked. Token counts are None if the server doesn't report them."""

    text: str
    model: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    cut: bool = False
    """True if the answer was cut off by the length limit."""


class Reasoner(Protocol):
    """One call, one answer; the caller checks it."""

    async def reason(self, question: Question) -> Thought:
        """Raise `TryLater` if the model can't be reached or takes too long, `SetupError` if key, model or URL are
        wrong, `NeverRetry` if it refuses the question."""

    async def check(self) -> Checked: ...

    async def close(self) -> None: ...
