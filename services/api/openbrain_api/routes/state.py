"""How the process and the system are, and the document."""

from openbrain import contract
from openbrain_api.handlers import access, state
from openbrain_api.http.route import Route

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/v1/whoami",
        handler=access.whoami,
        summary="Who this key is, and what it may",
        authenticated=True,
        response=contract.Whoami,
    ),
    Route(
        method="GET",
        path="/v1/health",
        handler=state.health,
        summary="How the system is",
        response=contract.Health,
        statuses=(200, 503),
    ),
    Route(
        method="GET",
        path="/live",
        handler=state.live,
        summary="The process runs",
        response=contract.Live,
        statuses=(200, 503),
    ),
    Route(
        method="GET",
        path="/ready",
        handler=state.ready,
        summary="Requests can be served",
        response=contract.Ready,
        statuses=(200, 503),
    ),
    Route(method="GET", path="/metrics", handler=state.metrics, summary="Prometheus metrics", operators=True),
    Route(method="GET", path="/openapi.json", handler=state.document, summary="This document", public=True),
)
