"""Client methods for thoughts: turns of conversations, each stored once."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict, Unpack

from openbrain.client.wire import Wire, given, in_path, refuse_empty, write_headers
from openbrain.contract.thoughts import (
    ThoughtAnswer,
    ThoughtBatchStored,
    ThoughtEnded,
    ThoughtList,
    ThoughtsEnded,
    ThoughtStats,
    ThoughtStored,
)

THOUGHTS = "/v1/thoughts"
Value = str | int | bool


class ThoughtFilter(TypedDict):
    """The filters of thoughts."""

    source: NotRequired[str]
    metadata_id: NotRequired[str]
    metadata: NotRequired[Mapping[str, Value]]
    session_id: NotRequired[str]


class Thoughts:
    """Client methods for thoughts. A thought that names its session and turn in its metadata is stored once."""

    _wire: Wire

    async def capture(
        self, /, content: str, *, source: str = "manual", metadata: Mapping[str, Any] | None = None, **more: Any
    ) -> ThoughtStored:
        """Store one thought, verbatim."""
        body = {"content": content, "source": source, "metadata": metadata or {}, **more}
        return await self._wire.ask(ThoughtStored, "POST", THOUGHTS, body=body, repeat=_has_identity(body))

    async def capture_all(
        self, thoughts: Sequence[Mapping[str, Any]], *, idempotency_key: str = ""
    ) -> ThoughtBatchStored:
        """Store up to 500 thoughts, in order."""
        return await self._wire.ask(
            ThoughtBatchStored,
            "POST",
            f"{THOUGHTS}:batch",
            body={"thoughts": list(thoughts)},
            headers=write_headers(idempotency_key),
            repeat=bool(idempotency_key) or all(_has_identity(thought) for thought in thoughts),
        )

    async def search_thoughts(
        self, /, query: str, *, limit: int | None = None, min_similarity: float | None = None, **filters: Any
    ) -> Sequence[ThoughtAnswer]:
        """Return the thoughts nearest to a question; `filters` as in `ThoughtFilter`, and `project`."""
        body = given(query=query, limit=limit, min_similarity=min_similarity, **filters)
        return (await self._wire.ask(ThoughtList, "POST", "/v1/search", body=body)).root

    async def recent_thoughts(
        self, *, limit: int | None = None, **filters: Unpack[ThoughtFilter]
    ) -> Sequence[ThoughtAnswer]:
        """Return thoughts, newest first."""
        query = {"limit": limit, **filters}
        return (await self._wire.ask(ThoughtList, "GET", f"{THOUGHTS}/recent", query=query)).root

    async def thought(self, thought_id: str, *, session_id: str | None = None) -> ThoughtAnswer:
        """Return one thought; a split turn is returned complete."""
        return await self._wire.ask(ThoughtAnswer, "GET", _path(thought_id), query={"session_id": session_id})

    async def change_thought(
        self,
        thought_id: str,
        *,
        content: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        session_id: str | None = None,
    ) -> ThoughtAnswer:
        """Change a thought's content, or all of its metadata."""
        body, query = given(content=content, metadata=metadata), {"session_id": session_id}
        return await self._wire.ask(ThoughtAnswer, "PATCH", _path(thought_id), body=body, query=query)

    async def delete_thought(
        self, thought_id: str, *, erase: bool = False, session_id: str | None = None
    ) -> ThoughtEnded:
        """End a thought with all of its parts. `erase`: only the proof of the erasure remains."""
        query = {"session_id": session_id, "erase": erase or None}
        # An erasure is never taken for done: a thought that was only forgotten before is not found either.
        gone = None if erase else ThoughtEnded(id=thought_id, deleted=True, erased=False)
        return await self._wire.ask(ThoughtEnded, "DELETE", _path(thought_id), query=query, gone=gone)

    async def delete_thoughts(
        self, *, erase: bool = False, wait: int = 0, **filters: Unpack[ThoughtFilter]
    ) -> ThoughtsEnded:
        """End all thoughts that match the filters; at least one of source, metadata_id and metadata is needed."""
        refuse_empty(filters)
        query, headers = {"erase": erase or None, **filters}, write_headers(wait=wait)
        return await self._wire.ask(
            ThoughtsEnded, "DELETE", THOUGHTS, query=query, headers=headers, repeat=False, well=(200, 202)
        )

    async def thought_stats(self) -> ThoughtStats:
        """Return the number of thoughts, in total and by source."""
        return await self._wire.ask(ThoughtStats, "GET", "/v1/stats")


def _path(thought_id: str) -> str:
    return f"{THOUGHTS}/{in_path(thought_id)}"


def _has_identity(thought: Mapping[str, Any]) -> bool:
    metadata = thought.get("metadata") or {}
    return "advancementKey" in metadata or ("sessionId" in metadata and "turn" in metadata)
