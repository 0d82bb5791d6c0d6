"""Artifacts: texts that agents should find, each under its own key."""

from openbrain.contract.vault.pages import ArtifactBody, ArtifactIndexed
from openbrain.domain.errors import Conflict
from openbrain.domain.memory import Memory, MemoryType
from openbrain.domain.permissions import Permission
from openbrain.domain.submission import Submission
from openbrain.domain.visibility import Criteria, visible
from openbrain.ports.writes import Status, Write
from openbrain.usecases.remember import Offer, normalised, prepare
from openbrain_api.handlers.brain.memories import origin_of
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
    """Remember a text under a key; it replaces the one before.

    What stood under its key before is superseded.
    """
    source = f"artifact:{hash_of(call.body.key)[:32]}"
    for _ in range(_ATTEMPTS):
        submission = _submission(call.body, source)
        standing = await _standing(call, source)
        if standing is not None and _same(standing, submission):
            return _told(call, standing, 200)
        outcome = await call.api.committer.remember(_write(call, submission, standing))
        if not isinstance(outcome.error, Conflict):
            break
    if outcome.memory is None:
        raise outcome.error or AssertionError("a refused write carries its error")
    return _told(call, outcome.memory, 200 if outcome.status is Status.DUPLICATE else 201)


def _told(call: Call[ArtifactBody, Nothing], memory: Memory, status: int) -> Response:
    fields = {"ok": True, "key": call.body.key, "id": memory.id, "duplicate": status == 200}
    return plain(fields, status=status)


def _submission(body: ArtifactBody, source: str) -> Submission:
    given = {"artifact": body.key, "content_type": body.content_type, "producer": body.producer}
    return Submission(
        content=body.content,
        type=MemoryType.DOCUMENTATION,
        source=source,
        metadata={**(body.metadata or {}), **{name: value for name, value in given.items() if value}},
        # Two artifacts may say the same, and each is replaced by its own successor alone.
        allow_duplicate=True,
    )


async def _standing(call: Call[ArtifactBody, Nothing], source: str) -> Memory | None:
    asked = visible(call.actor.viewer(), Criteria(sources=(source,)), call.api.clock.now())
    found = await call.api.store.memories.listing(asked, 1)
    return found[0] if found else None


def _same(standing: Memory, submission: Submission) -> bool:
    return standing.content == normalised(submission.content) and standing.metadata == submission.metadata


def _write(call: Call[ArtifactBody, Nothing], submission: Submission, standing: Memory | None) -> Write:
    """Two that come at once follow one another: they name the same predecessor, and the second is a `Conflict`."""
    before = standing.id if standing else ""
    offer = Offer(
        submission=submission.model_copy(update={"supersedes": before or None}),
        actor=call.actor,
        origin=origin_of(call, call.actor),
        idempotency_key=f"{submission.source}:{before}",
    )
    return prepare(offer, clock=call.api.clock, content_policy=call.api.content_policy)
