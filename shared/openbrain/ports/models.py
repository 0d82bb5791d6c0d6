"""Models that are asked: text to vector, and one question a tick."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from openbrain.ports.index import Checked


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelIdentity:
    """Identity of a model: vectors of one are comparable. A tag may change its weights, so the digest is part of it."""

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
        """The model as the operation of a model change names it."""
        return {"model": self.key, "model_name": self.name, "dimensions": self.dimensions}


def cut_otherwise(key: str, other: str) -> bool:
    """Whether two keys differ in the splitter version alone: a question has one vector by both."""
    return key != other and key.rpartition("s")[0] == other.rpartition("s")[0]


class Embedder(Protocol):
    """All methods raise `TryLater` while the model can't be reached."""

    async def identity(self) -> ModelIdentity:
        """Identify the model that answers, asked of the server once. `SetupError` when it is missing."""

    async def unchanged(self) -> bool:
        """Whether the model under this name still is the one of `identity`; a vector of another one is never given."""

    def passages(self, text: str, header: str) -> Sequence[str]:
        """The exact model inputs of a document: prompt, header (date and speaker) and overlapping pieces of text,
        each within the model's token limit. At least one; nothing of the text is left out."""

    async def embed(self, inputs: Sequence[str]) -> Sequence["array[float]"]:
        """Unit vectors of exact model inputs, in order. `ModelChanged` where `identity` tells of another model."""

    async def embed_query(self, query: str) -> "array[float]":
        """The unit vector of a question, with the model's query prompt before it."""

    async def embed_queries(self, queries: Sequence[str]) -> Sequence["array[float]"]:
        """Vectors of several questions, in order, cheaper than one by one. `NeverRetry` where one can't be embedded."""

    async def check(self) -> Checked: ...

    async def close(self) -> None: ...


class Encoding(NamedTuple):
    """A document's vector, and its token states as they are kept; b'' where none were made."""

    vector: "array[float]"
    states: bytes


class QueryEncoding(NamedTuple):
    """A question's vector and its token states, one behind the other; none where no model makes any."""

    vector: "array[float]"
    states: "array[float]"


class TokenSimilarity(NamedTuple):
    """How similar a document is to a question, by words in their context; 1 at most."""

    among: float
    """Among the documents compared with it: a word counts the less the more they share it, and words of documents
    beside it count for it too."""
    alone: float
    """By itself, all words alike: comparable between questions."""


Beside = tuple[int, int, float]
"""Numbers of two documents, and the share by which a word of the second counts for the first, in 0..1."""


class TokenEncoder(Protocol):
    """A model that also tells of each word that says something what it means in its context (token states)."""

    @property
    def version(self) -> bytes:
        """The prefix of all states that it makes; states of another version are of no use."""

    async def encode(self, inputs: Sequence[str]) -> Sequence[Encoding]:
        """Of exact model inputs, in order, in one pass; its own vectors, which are those of `Embedder.embed` where it
        is one. Never b'' for states."""

    async def encode_queries(self, queries: Sequence[str]) -> Sequence[QueryEncoding]:
        """Encode questions, in order, in one pass."""

    def similarities(
        self, question: "array[float]", documents: Sequence[Sequence[bytes]], beside: Sequence[Beside] = ()
    ) -> Sequence[TokenSimilarity | None]:
        """Of each document (the states of its passages), that of its best passage. None where it has no states."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request to the model. `schema` (JSON Schema of an object) is what the answer should follow, unguaranteed."""

    instructions: str
    prompt: str
    schema: Mapping[str, Any]
    schema_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """The model's answer, unchecked. Tokens are None where the server doesn't count them."""

    text: str
    model: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    cut: bool = False
    """The model was stopped by the limit on its answer."""


class Reasoner(Protocol):
    """One call, one answer; who asks checks it."""

    async def reason(self, question: Question) -> Thought:
        """`TryLater` while it can't be reached or takes too long, `SetupError` where key, model or URL are wrong,
        `NeverRetry` where it refuses the question."""

    async def check(self) -> Checked: ...

    async def close(self) -> None: ...
