"""The embedding model, for operators: show and change it."""

from collections.abc import Sequence

from openbrain.contract.admin.models import HowChanged, ModelAnswer, ModelChange, ModelChangeBody, ModelInUse
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Conflict, Invalid, OpenBrainError, SetupError
from openbrain.ports.models import ModelIdentity
from openbrain.ports.store.generations import MODEL_CHANGE, Generation, GenerationStatus, IndexKind
from openbrain.ports.store.index_entries import Extent
from openbrain.ports.store.operations import Operation
from openbrain_api.handlers.admin.indexes import running
from openbrain_api.handlers.admin.operations import operators_only, planned, shown_operation, start_operation
from openbrain_api.http.response import Response, respond
from openbrain_api.http.route import Call, Nothing, Route


@Route("GET", "/v1/admin/models", permission=Permission.ADMIN, response=ModelInUse)
async def in_use(call: Call[Nothing, Nothing]) -> Response:
    """The embedding model in use."""
    operators_only(call, "the model is shared by all workspaces: this needs")
    written = await call.api.store.generations.written(IndexKind.VECTOR)
    serving = written[0] if written and written[0].status == GenerationStatus.SERVING else None
    try:
        problem = "; ".join((await call.api.embedders.check(serving)).problems) or None
    except OpenBrainError as error:
        problem = str(error)
    models = {row.model: shown_model(row) for row in written}
    shown = ModelInUse(
        serving=None if serving is None else shown_model(serving),
        written=tuple(models.values()),
        setting=call.api.embedders.setting or call.api.settings.embedding.model,
        problem=problem,
    )
    return respond(shown)


@Route(
    "POST",
    "/v1/admin/models:change",
    permission=Permission.ADMIN,
    response=ModelChange,
    statuses=(200, 202),
    problems=(409,),
)
async def change(call: Call[ModelChangeBody, Nothing]) -> Response:
    """Embed all memories with another model while the old one answers, then switch to it.

    A kept index of that model is switched to at once. A repeated request returns the operation under way.
    """
    operators_only(call, "the model is shared by all workspaces: this needs")
    body, store = call.body, call.api.store
    try:
        _, identity = await call.api.embedders.current(body.model)
    except SetupError as error:
        raise Invalid("model", str(error)) from None
    known = await store.generations.generations(IndexKind.VECTOR)
    serving = next((generation for generation in known if generation.status == GenerationStatus.SERVING), None)
    if serving is None:
        raise Conflict("there is no vector index yet: the first one is made by the model that the settings name")
    kept = _kept(known, serving, identity)
    how = HowChanged.EMBED
    if not body.re_embed:
        how = HowChanged.NOTHING if serving.model == identity.key else HowChanged.SWITCH if kept else how
    plan = {
        "dry_run": body.dry_run,
        "how": how,
        "to": ModelAnswer(model=identity.name, model_identity=identity.key, dimensions=identity.dimensions),
        "serving": shown_model(serving),
        "total": await store.expected_entries.count_extent(Extent(kind=IndexKind.VECTOR)),
        "cached": await store.vectors.count_inputs(identity.key),
    }
    if body.dry_run or how is HowChanged.NOTHING:
        return planned(plan)
    if how is HowChanged.SWITCH and kept is not None:
        await store.generations.swap(kept.kind, kept.name)
        await call.api.indexes[kept.kind].expose(kept.name)
        return planned(plan)
    return respond({**plan, "operation": shown_operation(await _queue_model_change(call, identity))}, status=202)


async def _queue_model_change(call: Call[ModelChangeBody, Nothing], identity: ModelIdentity) -> Operation:
    body = call.body
    parameters = {
        "index": IndexKind.VECTOR.value,
        **identity.request(),
        "re_embed": body.re_embed,
        "rate": body.rate,
        "max_failures": body.max_failures,
    }
    request = {name: value for name, value in parameters.items() if value not in (None, False, 0)}
    other = await running(call, IndexKind.VECTOR)
    if other is not None and (other.kind, other.request.get("model")) == (MODEL_CHANGE, identity.key):
        return other
    if other is not None:
        raise Conflict(f"this index is already being rebuilt, by the operation {other.id}: let it end, or cancel it")
    return await start_operation(call, MODEL_CHANGE, request)


def _kept(known: Sequence[Generation], serving: Generation, identity: ModelIdentity) -> Generation | None:
    """The newest kept index of this model that is up to date; one of another builder version is not."""
    return next(
        (
            generation
            for generation in known
            if generation.status == GenerationStatus.KEPT
            and generation.model == identity.key
            and generation.builder == serving.builder
        ),
        None,
    )


def shown_model(row: Generation) -> ModelAnswer:
    """The model of a generation."""
    return ModelAnswer(model=row.model_name, model_identity=row.model, dimensions=row.dimensions)
