"""Lifecycle jobs on a workspace's memories, and their undo. Each is an operation, a dry run too."""

from functools import partial
from typing import Any, Final

from openbrain.contract.admin.lifecycle import (
    BackfillOrgBody,
    CleanBody,
    ConsolidateBody,
    DedupeBody,
    LifecycleBody,
    LifecycleStarted,
    MemoryFilter,
    PruneBody,
    RefileBody,
)
from openbrain.contract.admin.policies import Kept, PoliciesAnswer, PoliciesBody, RetentionAnswer
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Conflict, Invalid
from openbrain.domain.memory import DAY
from openbrain.ports.lifecycle import (
    BACKFILL_ORG,
    CLEAN,
    CONSOLIDATE,
    DEDUPE,
    JOBS,
    PRUNE,
    REFILE,
    UNDO,
    PolicyDocument,
)
from openbrain.ports.retention import ENDED, HISTORY, OPERATIONS, RECALLS
from openbrain.ports.store.operations import Operation
from openbrain.settings import Settings
from openbrain.usecases.content.admission import admitted_fields
from openbrain.usecases.tick_schedule import refuse_schedule
from openbrain_api.handlers.admin.operations import accepted, start_operation
from openbrain_api.http.parsing import expected_versions, found, id_in, unless_held
from openbrain_api.http.response import Response, respond
from openbrain_api.http.route import Call, Nothing, Route

_operation: Final = partial(
    Route, "POST", permission=Permission.ADMIN, response=LifecycleStarted, statuses=(202,), waits=True, cost=10
)
"""A route that starts an operation."""


@_operation("/v1/admin/lifecycle:prune")
async def prune(call: Call[PruneBody, Nothing]) -> Response:
    """Archive memories that are too uncertain, too old, or not found by any recall.

    The default is a dry run, which only reports what would be archived. Archived memories are out of recall, lists and
    indexes until they are restored.
    """
    return await started(call, PRUNE)


@_operation("/v1/admin/lifecycle:dedupe")
async def dedupe(call: Call[DedupeBody, Nothing]) -> Response:
    """Archive memories that say the same as another one.

    The best one stays, with the tags, other names, feedback and recall counts of all. Numbers, names, dates and
    negations must agree. Memories of different orgs, projects, types or audiences are never compared.
    """
    return await started(call, DEDUPE)


@_operation("/v1/admin/lifecycle:consolidate")
async def consolidate(call: Call[ConsolidateBody, Nothing]) -> Response:
    """Merge memories about the same thing into the one with the highest confidence.

    That one then holds each sentence once, in the newest wording, and cites its sources in `metadata.consolidated`. The
    sources are archived. Memories of different orgs, projects, types or audiences are never merged.
    """
    return await started(call, CONSOLIDATE)


@_operation("/v1/admin/lifecycle:refile")
async def refile(call: Call[RefileBody, Nothing]) -> Response:
    """Move memories to another project, org, agent or scope.

    The default is a dry run, which only reports what would be moved. A memory stays where it is if the target already
    has one that says the same.
    """
    return await started(call, REFILE)


@_operation("/v1/admin/lifecycle:backfill-org")
async def backfill_org(call: Call[BackfillOrgBody, Nothing]) -> Response:
    """Fill in a missing org: memories of a project get the org that its other memories have.

    `undecided` in the result names up to 20 projects without a single known org.
    """
    return await started(call, BACKFILL_ORG)


@_operation("/v1/admin/lifecycle:clean")
async def clean(call: Call[CleanBody, Nothing]) -> Response:
    """Clean stored data: personal data, secrets, spellings.

    The default is a dry run, which reports what would be changed by kind and place, never a value. It covers memories,
    their history, messages, dead letters and the vault. Can't be undone.
    """
    return await started(call, CLEAN)


@_operation("/v1/admin/operations/{id}:undo", problems=(404, 409))
async def undo(call: Call[Nothing, Nothing]) -> Response:
    """Undo a lifecycle operation: restore what it archived or rewrote.

    Memories that were changed since stay as they are, and are counted.
    """
    store, now, operation_id = call.api.store, call.api.clock.now(), id_in(call.path, "operation")
    done = found(await store.operations.operation(call.actor.workspace_id, operation_id), "operation")
    _undoable(done, now - await _undo_days(call, done.kind) * DAY)
    request, counts = {"operation": done.id, "kind": done.kind}, await store.lifecycle.counts(done.id)
    return await accepted(call, {"dry_run": False}, await start_operation(call, UNDO, request, sum(counts.values())))


@Route("GET", "/v1/admin/lifecycle", permission=Permission.ADMIN, response=PoliciesAnswer, matched=True)
async def policies(call: Call[Nothing, Nothing]) -> Response:
    """This workspace's lifecycle policies."""
    return unless_held(call.headers, _tagged(await call.api.store.policies.document(call.actor.workspace_id)))


@Route("PUT", "/v1/admin/lifecycle", permission=Permission.ADMIN, response=PoliciesAnswer, matched=True)
async def set_policies(call: Call[PoliciesBody, Nothing]) -> Response:
    """Set which jobs run on a schedule, and what a legal hold keeps.

    Replaces the whole previous document.
    """
    _require_storable(call, *call.body.legal_hold, *(policy.body for policy in call.body.policies))
    for number, policy in enumerate(call.body.policies):
        refuse_schedule(f"policies.{number}.schedule", policy.schedule)
    document = call.body.document(call.actor.workspace_id, call.actor.label, call.api.clock.now())
    return _tagged(await call.api.store.policies.set_document(document, expected_versions(call.headers)))


def _tagged(document: PolicyDocument | None) -> Response:
    shown = PoliciesAnswer.standing(document)
    return respond(shown, headers={"etag": f'"{shown.edition}.policies"'})


@Route("GET", "/v1/admin/retention", permission=Permission.ADMIN, response=RetentionAnswer)
async def retention(call: Call[Nothing, Nothing]) -> Response:
    """The days after which data of this workspace is removed: by its own policy, or by the settings."""
    document = await call.api.store.policies.document(call.actor.workspace_id)
    own = {} if document is None else document.retention
    usual = _usual_days(call.api.settings)
    kept = [
        Kept(what=name, days=min(days), by="workspace" if name in own and own[name] == min(days) else "settings")
        if (days := [item for item in (own.get(name), usual.get(name)) if item is not None])
        else Kept(what=name, days=None, by="settings")
        for name in (*ENDED.values(), HISTORY, RECALLS, OPERATIONS, "message_days", "signal_days", "undo_days")
    ]
    return respond(RetentionAnswer(kept=tuple(kept), held=document is not None and bool(document.holds)))


def _usual_days(settings: Settings) -> dict[str, int]:
    tuning = settings.housekeeping.tuning
    return {
        RECALLS: settings.recall.tuning.kept_days,
        OPERATIONS: tuning.operation_days,
        "message_days": tuning.message_days,
        "signal_days": settings.signals.retention_days,
        "undo_days": tuning.undo_days,
    }


async def _undo_days(call: Call[Any, Any], kind: str) -> int:
    """How long what undoes an operation is kept: that of other kinds than prune holds texts as they were."""
    usual: int = call.api.settings.housekeeping.tuning.undo_days
    document = None if kind == PRUNE else await call.api.store.policies.document(call.actor.workspace_id)
    return usual if document is None else min(usual, document.retention.get(HISTORY, usual))


async def started(call: Call[Any, Nothing], kind: str) -> Response:
    """Start the operation of a job with the request's body."""
    body: LifecycleBody = call.body
    _require_storable(call, body)
    request = body.request(call.actor.workspace_id, call.api.clock.now())
    return await accepted(call, {"dry_run": body.dry_run}, await start_operation(call, kind, request))


def _require_storable(call: Call[Any, Any], *filters: MemoryFilter) -> None:
    """Refuse a source or tag that the content policy does not store: masked, it would select other memories."""
    admission = call.api.content_policy.of(call.actor.workspace_id)
    for item in filters:
        for name in admitted_fields({"source": item.source, "tags": item.tags}, admission):
            raise Invalid(name, "holds what the content policy masks, so it can't be kept as a filter: use another one")


def _undoable(operation: Operation, since: int) -> None:
    if not JOBS.get(operation.kind):
        raise Conflict(f"an operation of the kind {operation.kind} can't be undone")
    if operation.request["dry_run"]:
        raise Conflict("this was a dry run: it has changed nothing")
    if operation.finished_at is None:
        raise Conflict("this operation still runs: cancel it, or wait for its end")
    if operation.created_at < since:
        raise Conflict("this was too long ago: how to undo it is no longer known")
