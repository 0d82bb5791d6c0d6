"""Thoughts as memories, and memories as thoughts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from openbrain.contract.brain.filters import MetadataFilter
from openbrain.contract.thoughts import ThoughtAnswer, ThoughtBody
from openbrain.domain import limits
from openbrain.domain.access.metadata_pairs import pair
from openbrain.domain.access.visibility import Criteria, Viewer, matches, visible
from openbrain.domain.errors import Invalid, NotFound
from openbrain.domain.events.submission import Submission
from openbrain.domain.ids import is_uuid, joined_hash
from openbrain.domain.memory import HOUR, Memory, MemoryType, Scope
from openbrain.domain.text.instructions import text_labels
from openbrain.domain.text.thought_parts import MOST_PARTS, PART, PARTS, WHOLE, part_id, split
from openbrain.domain.times import to_datetime
from openbrain.ports.store.memories import Memories
from openbrain.ports.store.writes import Write
from openbrain.usecases.remember import Offer, prepare
from openbrain_api.http.parsing import parse_item, part_key
from openbrain_api.http.route import Call

_OF_THOUGHTS = Criteria(types=(MemoryType.CONTEXT,), scopes=(Scope.AGENT, Scope.SESSION))


def thought_writes(call: Call[Any, Any], body: ThoughtBody, key: str) -> Sequence[Write]:
    """The write of a thought; for a long one the writes of its parts in order, to be stored in one transaction. `key`:
    the idempotency key, '' for none."""
    if len(body.content) <= limits.CONTENT_CHARS:
        whole = _write(call, body, key, body.content, 1, {})
        if len(whole.memory.content) <= limits.CONTENT_CHARS:
            return (whole,)
    first, *others = split(_masked(call, body.content))
    write = _write(call, body, key, first, 1, {})
    if not others:
        return (write,)
    first_id = write.memory.id
    shared = {PARTS: 1 + len(others), WHOLE: first_id}
    writes = [_write(call, body, key, text, number, shared) for number, text in enumerate((first, *others), 1)]
    numbered = [
        write._replace(memory=write.memory._replace(id=part_id(first_id, number)))
        for number, write in enumerate(writes, 1)
    ]
    return in_order(numbered)


def _masked(call: Call[Any, Any], content: str) -> str:
    """Mask before the text is split: a secret may lie across a cut, and a mask may be longer than its secret."""
    admission = call.api.content_policy.of(call.actor.workspace_id)
    masked = admission.admit([("content", content)], refusing=False).texts[0]
    if len(masked) > limits.THOUGHT_CHARS:
        raise Invalid("content", f"must be at most {limits.THOUGHT_CHARS} characters with its secrets masked")
    return masked


def in_order(writes: Sequence[Write], last: int = 0) -> Sequence[Write]:
    """Writes with strictly rising `created_at`, all after `last` (microseconds), because lists are ordered by it."""
    ordered = []
    for write in writes:
        last = max(write.memory.created_at, last + 1)
        later = last > write.memory.created_at
        ordered.append(write._replace(memory=write.memory._replace(created_at=last)) if later else write)
    return ordered


def _write(
    call: Call[Any, Any], body: ThoughtBody, key: str, text: str, number: int, shared: Mapping[str, object]
) -> Write:
    actor, api = call.actor.speaking_as(body.agent_id), call.api
    given = {
        "content": text,
        "type": MemoryType.CONTEXT,
        "memory_scope": body.memory_scope,
        "org": body.org,
        "project": body.project,
        "session_id": body.session_id or None,
        "turn": body.turn,
        "speaker": _speaker(body.metadata.get("role")),
        # With the members of a part it may be too long.
        "metadata": {**body.metadata, **({PART: number, **shared} if shared else {})},
        "source": body.source,
        "occurred_at": body.occurred_at,
        "allow_duplicate": not body.identity,
    }
    return prepare(
        Offer(
            submission=parse_item(Submission, given),
            actor=actor,
            origin=call.origin(actor),
            idempotency_key=part_key(key, number) if number > 1 else key,
            key_lifetime=api.settings.housekeeping.tuning.request_key_hours * HOUR,
            identity=joined_hash(body.identity, str(number)) if body.identity else "",
            verbatim=True,
        ),
        clock=api.clock,
        content_policy=api.content_policy,
    )


def _speaker(role: object) -> str | None:
    role = role.strip() if isinstance(role, str) else ""
    return role if role and len(role) <= limits.SPEAKER_CHARS and role.isprintable() else None


def thought_criteria(
    source: str | None = None,
    metadata: MetadataFilter | None = None,
    metadata_id: str | None = None,
    project: str | None = None,
) -> Criteria:
    """Criteria for thoughts (by type and scopes), narrowed by source, project and metadata."""
    pairs = [pair(key, value) for key, value in (metadata or {}).items()]
    pairs += [pair("id", metadata_id)] if metadata_id is not None else []
    return replace(
        _OF_THOUGHTS,
        sources=(source,) if source else (),
        metadata=tuple(pairs),
        project=project or "",
        only_project=False,
    )


def session_of(session_id: str | None, metadata: MetadataFilter | None) -> str:
    """The session that a request names, as `session_id` or in its metadata filter; else ''."""
    named = (metadata or {}).get("sessionId")
    return session_id or (named if isinstance(named, str) and len(named) <= limits.SESSION_CHARS else "")


async def parts_of(
    memory: Memory, viewer: Viewer, memories: Memories, now: int, *, ended: bool = False
) -> Sequence[Memory]:
    """The parts of the turn that a memory belongs to, in order; only the memory itself if it is not a part. `ended`:
    also those that have ended."""
    count, first = memory.metadata.get(PARTS), memory.metadata.get(WHOLE)
    if type(count) is not int or not 1 < count <= MOST_PARTS or not isinstance(first, str):
        return (memory,)
    condition = visible(viewer, thought_criteria(metadata={WHOLE: first}), now)
    ids = [part_id(first, number) for number in range(1, count + 1)] if is_uuid(first) else []
    known = (await memories.rows(ids)).values()
    rows = [row for row in known if (ended or row.alive(now)) and matches(condition, row)]
    if len(rows) < count:  # imported parts have other ids
        listed = await memories.listing(condition, count)
        rows = [*{row.id: row for row in (*rows, *listed, memory)}.values()] if ended else [*listed]
    return sorted(rows, key=_number) or (memory,)


def _number(part: Memory) -> int:
    number = part.metadata.get(PART)
    return number if type(number) is int else 0  # a client may store anything under this name


async def shown_thought(
    memory_id: str, viewer: Viewer, memories: Memories, now: int, *, ended: bool = False
) -> Sequence[Memory]:
    """The parts of a thought, by the id of any of them. Raise `NotFound` if the viewer can't see it, or if it has ended
    and `ended` is False."""
    now = 0 if ended else now  # at this time nothing has expired yet
    row = (await memories.rows((memory_id,))).get(memory_id)
    if row is None or not (ended or row.alive(now)) or not matches(visible(viewer, thought_criteria(), now), row):
        raise NotFound("no thought with this id")
    return await parts_of(row, viewer, memories, now, ended=ended)


def thought(memory: Memory, content: str | None = None, **others: Any) -> dict[str, Any]:
    """The members of `ThoughtAnswer`."""
    number, count = memory.metadata.get(PART), memory.metadata.get(PARTS)
    text = memory.content if content is None else content
    labels = text_labels(text)
    answer = ThoughtAnswer(
        id=memory.id,
        content=text,
        source=memory.source,
        metadata=dict(memory.metadata),
        created_at=to_datetime(memory.created_at),
        updated_at=to_datetime(memory.updated_at),
        created_at_camel=to_datetime(memory.created_at),
        updated_at_camel=to_datetime(memory.updated_at),
        embedded=memory.vector_revision == memory.revision,
        **({"labels": labels} if labels else {}),
        **({"part": number, "parts": count} if isinstance(number, int) and isinstance(count, int) else {}),
    )
    return answer.model_dump(exclude_unset=True) | others
