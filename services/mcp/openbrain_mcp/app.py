"""Streamable HTTP at /mcp, with the same keys as the API, which is called in process."""

import contextlib
from collections.abc import AsyncIterator, Sequence

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route

from openbrain.domain import limits
from openbrain_mcp.http.clients import Callers
from openbrain_mcp.http.exchange import Exchange
from openbrain_mcp.http.guard import Guard
from openbrain_mcp.server import mcp_server

PATH = "/mcp"
# Any host name is allowed: `Guard` checks keys and origins.
_ANY_HOST = TransportSecuritySettings(enable_dns_rebinding_protection=False)


def with_mcp(api: Starlette, origins: Sequence[str] = ()) -> Starlette:
    """The app with the tools at /mcp. `origins`: browser origins allowed in addition to this machine's own."""
    callers = Callers(api)
    server = mcp_server(callers.client)
    tools = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=limits.BODY_BYTES,
        transport_security=_ANY_HOST,
    )
    exchange = Exchange(server, tools, limits.BODY_BYTES)
    inner = api.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[object]:
        async with inner(app) as state, tools.router.lifespan_context(tools):
            yield state

    api.router.lifespan_context = lifespan  # type: ignore[assignment]
    api.router.routes.insert(0, Route(PATH, Guard(exchange, api.state.admit, callers, origins)))
    return api
