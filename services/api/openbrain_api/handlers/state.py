"""How the process is. Open to everyone, so they tell little."""

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

import openbrain
from openbrain_api.reply import Reply, plain
from openbrain_api.route import Call, Nothing


async def health(call: Call[Nothing, Nothing]) -> Reply:
    """Well, degraded (recall lacks an index) or down (the truth does not answer)."""
    parts = await call.api.checks.parts()
    status = "down" if not parts["truth"] else "ok" if all(parts.values()) else "degraded"
    named = {name: "ok" if well else "down" for name, well in parts.items()}
    fields = {"status": status, "version": openbrain.__version__, "parts": named}
    return plain(fields, status=503 if status == "down" else 200)


async def live(_call: Call[Nothing, Nothing]) -> Reply:
    """The loop turns."""
    return plain({"status": "ok"})


async def ready(call: Call[Nothing, Nothing]) -> Reply:
    """Requests can be served: the truth answers."""
    parts = await call.api.checks.parts()
    return plain({"status": "ok" if parts["truth"] else "down"}, status=200 if parts["truth"] else 503)


async def metrics(call: Call[Nothing, Nothing]) -> Reply:
    """Prometheus."""
    return Reply(200, generate_latest(call.api.registry), CONTENT_TYPE_LATEST)


async def document(call: Call[Nothing, Nothing]) -> Reply:
    """This API as OpenAPI 3.1."""
    return Reply(200, call.api.document)
