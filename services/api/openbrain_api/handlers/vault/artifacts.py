"""Artifacts: texts that agents should find, each under its own key."""

from openbrain.contract.vault.pages import ArtifactBody, ArtifactIndexed
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Criteria, visible
from openbrain.domain.errors import Conflict
from openbrain.domain.events.submission import Submission
from openbrain.domain.memory import Memory, MemoryType
from openbrain.ports.store.writes import Status, Write
from openbrain.usecases.remember import Offer, normalised, prepare
from openbrain_api.http.response import Response, plain
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.vaults.writes import hash_of

_ATTEMPTS = 3


@Route(
    "POST",
    "/index_artifact",
    permission=Permission.BRAIN_WRITE,
    response=ArtifactIndexed,
    statuses=(200, 201),
    problems=(409,),
    stores=True,
)
async def index_artifact(call: Call[ArtifactBody, Nothing]) -> Response:
    """Store a text under a key; it replaces the previous one.

    The previous text of the key is superseded.
    """
    source = f"artifact:{hash_of(call.body.key)[:32]}"
    for _ in range(_ATTEMPTS):
        submission = _submission(call.body, source)
        current = await _current(call, source)
        if current is not None and _same(current, submission):
            return _indexed(call, current, 200)
        outcome = await call.api.committer.remember(_write(call, submission, current))
        if not isinstance(outcome.error, Conflict):
            break
    if outcome.memory is None:
        raise outcome.error or AssertionError("a refused write carries its error")
    return _indexed(call, outcome.memory, 200 if outcome.status is Status.DUPLICATE else 201)


def _indexed(call: Call[ArtifactBody, Nothing], memory: Memory, status: int) -> Response:
    fields = {"ok": True, "key": call.body.key, "id": memory.id, "duplicate": status == 200}
    return plain(fields, status=status)


def _submission(body: ArtifactBody, source: str) -> Submission:
    given = {"artifact": body.key, "content_type": body.content_type, "producer": body.producer}
    return Submission(
        content=body.content,
        type=MemoryType.DOCUMENTATION,
        source=source,
        metadata={**(body.metadata or {}), **{name: value for name, value in given.items() if value}},
        # Artifacts of different keys may have equal texts, and each is replaced only by its own successor.
        allow_duplicate=True,
    )


async def _current(call: Call[ArtifactBody, Nothing], source: str) -> Memory | None:
    condition = visible(call.actor.viewer(), Criteria(sources=(source,)), call.api.clock.now())
    rows = await call.api.store.memories.listing(condition, 1)
    return rows[0] if rows else None


def _same(current: Memory, submission: Submission) -> bool:
    return current.content == normalised(submission.content) and current.metadata == submission.metadata


def _write(call: Call[ArtifactBody, Nothing], submission: Submission, current: Memory | None) -> Write:
    """The write of an artifact. Of two concurrent ones that name the same predecessor, the second gets a `Conflict`."""
    before = current.id if current else ""
    offer = Offer(
        submission=submission.model_copy(update={"supersedes": before or None}),
        actor=call.actor,
        origin=call.origin(),
        idempotency_key=f"{submission.source}:{before}",
    )
    return prepare(offer, clock=call.api.clock, content_policy=call.api.content_policy)
