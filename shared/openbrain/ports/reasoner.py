"""A language model that is asked one question a tick."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from openbrain.ports.index import Checked


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked. `schema` (JSON Schema of an object) is what the answer should follow; nothing guarantees it."""

    instructions: str
    prompt: str
    schema: Mapping[str, Any]
    schema_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """What came back, unchecked. Tokens are None where the server doesn't count them."""

    text: str
    model: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    cut: bool = False
    """The model was stopped by the limit on its answer."""


class Reasoner(Protocol):
    """One call, one answer; who asks checks it."""

    async def reason(self, question: Question) -> Thought | None:
        """None: there is no model here, and nothing to wait for. `TryLater` while it can't be reached or takes too
        long, `SetupError` where key, model or URL are wrong, `NeverRetry` where it refuses the question."""

    async def check(self) -> Checked:
        """Whether it answers, and what it is."""

    async def close(self) -> None:
        """Release the connection."""
