"""Health of the process and the system, and the OpenAPI document. Mostly public: parts are named, no content."""

import asyncio

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

import openbrain
from openbrain.contract.admin.access import Whoami
from openbrain.contract.system import Health, Live, Ready
from openbrain.observability import metrics as telemetry
from openbrain_api.checks import OWN
from openbrain_api.http.compression import accepts_gzip, compressed_tag
from openbrain_api.http.parsing import unless_held
from openbrain_api.http.response import Response, plain, respond
from openbrain_api.http.route import Call, Nothing, Route


@Route("GET", "/v1/whoami", authenticated=True, response=Whoami)
async def whoami(call: Call[Nothing, Nothing]) -> Response:
    """The key's identity and rights."""
    actor = call.actor
    return respond(Whoami.of(actor, permissions=sorted(actor.permissions)))


@Route("GET", "/v1/health", response=Health, statuses=(200, 503))
async def health(call: Call[Nothing, Nothing]) -> Response:
    """Health of the system.

    `degraded` if any part does not answer, `down` if the database does not.
    """
    checks = call.api.checks
    failing = await checks.failing()
    own = failing.get(OWN, {})
    parts = {part: "down" if part in own else "ok" for part in checks.parts}
    parts |= {service.group: "down" if service.group in failing else "ok" for service in checks.services}
    writes = await call.api.pressure.refusal()
    if (alive := call.api.pressure.streams_answer()) is not None:
        parts["streams"] = "ok" if alive else "down"
    status = "down" if "truth" in own else "degraded" if failing or writes or alive is False else "ok"
    content = {"status": status, "version": openbrain.__version__, "parts": parts, "writes": writes}
    return plain(content, status=503 if status == "down" else 200)


@Route("GET", "/live", response=Live, statuses=(200, 503))
async def live(call: Call[Nothing, Nothing]) -> Response:
    """Whether the process runs.

    True while none of its loops is stuck.
    """
    stuck = call.api.checks.stuck()
    return plain({"live": not stuck, "stuck": stuck}, status=503 if stuck else 200)


@Route("GET", "/ready", response=Ready, statuses=(200, 503))
async def ready(call: Call[Nothing, Nothing]) -> Response:
    """Whether requests can be served.

    The API stays ready without an index, and while it refuses writes: it still answers reads.
    """
    failing = dict(await call.api.checks.failing())
    own = {part: why for part, why in failing.pop(OWN, {}).items() if part == "truth"}
    if own:
        failing[OWN] = own
    dependencies = await call.api.checks.dependencies()
    content = {
        "ready": not failing,
        "failing": failing,
        "paused": call.api.checks.paused(),
        "dependencies": dependencies,
        "writes": await call.api.pressure.refusal(),
    }
    return plain(content, status=503 if failing else 200)


@Route("GET", "/metrics", operators=True)
async def metrics(call: Call[Nothing, Nothing]) -> Response:
    """Prometheus metrics."""
    await call.api.checks.measure()
    return Response(200, generate_latest(telemetry.REGISTRY), CONTENT_TYPE_LATEST)


@Route("GET", "/openapi.json", public=True)
async def document(call: Call[Nothing, Nothing]) -> Response:
    """This document."""
    made = await asyncio.to_thread(call.api.document)
    headers = {"cache-control": "no-cache", "etag": made.entity_tag, "vary": "accept-encoding"}
    response = unless_held(call.headers, Response(200, made.plain, headers=headers))
    if response.status != 200 or not call.api.settings.server.tuning.gzip_bytes or not accepts_gzip(call.headers):
        return response
    packed = {"etag": compressed_tag(made.entity_tag), "content-encoding": "gzip"}
    return Response(200, made.packed, headers={**headers, **packed})
