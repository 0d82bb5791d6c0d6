"""One path as an ASGI application: authenticate, rate-limit, parse, call the handler, write the response."""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from starlette.types import Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from openbrain.domain.errors import ServerFailed
from openbrain.observability import metrics
from openbrain.usecases.auth import Actor
from openbrain.usecases.content.admission import admitted_model
from openbrain_api.api import Api
from openbrain_api.http import parsing
from openbrain_api.http.compression import accepts_gzip, compressed_tag, gzip_whole
from openbrain_api.http.forms import form_body
from openbrain_api.http.rate_limit import Fields
from openbrain_api.http.response import (
    Refused,
    Response,
    Stored,
    header_fields,
    problem_fields,
    problem_from,
    status_of,
)
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.http.streaming import streamed_body, write_stream

NOBODY = Actor(key_id="", name="", workspace_id="", agent_id="", permissions=frozenset())


class Methods:
    """All methods of one path, and their metrics; HEAD if there is GET. Shared by all apps of a process."""

    def __init__(self, path: str, routes: Sequence[Route]) -> None:
        self._path = path
        self.routes: Mapping[str, Route] = {route.method: route for route in routes}
        self.allowed = ", ".join(sorted({*self.routes, "OPTIONS"} | ({"HEAD"} if "GET" in self.routes else set())))
        for route in routes:
            route.body.model_rebuild()  # build the validators now, not in the first request
            route.query.model_rebuild()
        self.names = {method: f"{method} {path}" for method in self.routes}
        self.seconds = {method: metrics.API_SECONDS.labels(method, path) for method in self.routes}
        self._counts: dict[tuple[str, int], Any] = {}

    def count(self, method: str, status: int) -> None:
        """Count a response."""
        counter = self._counts.get((method, status))
        if counter is None:
            counter = self._counts[method, status] = metrics.API_REQUESTS.labels(method, self._path, str(status))
        counter.inc()


class Endpoint:
    """One path of one app."""

    def __init__(self, methods: Methods, api: Api) -> None:
        self._methods, self._api = methods, api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        headers = parsing.headers_of(scope["headers"])
        head = scope["method"] == "HEAD"
        method = "GET" if head else scope["method"]
        request_id = parsing.request_id(headers)
        extra_headers: Fields = [(b"x-request-id", request_id)]
        route = self._methods.routes.get(method)
        if route is None:
            await write(_other_method(method, self._methods.allowed), send, extra_headers=extra_headers)
            return
        with bound_contextvars(request_id=request_id.decode()):
            try:
                with metrics.request_span(self._methods.names[method], parsing.traceparent(headers)) as span:
                    if span is not None:
                        span.set_attribute("openbrain.request_id", request_id.decode())
                    response = await self._respond(route, scope, headers, receive, extra_headers)
            except parsing.Gone:
                return
            except Exception as error:  # noqa: BLE001 - every failure gets a response
                response = problem_from(error, Stored.NO if route.changes else None)
            if response.stream is not None:
                await write_stream(response, receive, send, head=head, extra_headers=extra_headers)
            else:
                await write(await self._compressed(response, headers), send, head=head, extra_headers=extra_headers)
        if response.on_disconnect is None:  # listening time is not latency
            self._methods.seconds[method].observe(time.perf_counter() - started)
        self._methods.count(method, response.status)

    async def _respond(
        self, route: Route, scope: Scope, headers: parsing.Headers, receive: Receive, extra_headers: Fields
    ) -> Response:
        actor = NOBODY
        parsing.once_each(scope["headers"])
        authorization = headers.get(b"authorization", b"").decode("latin-1")
        if route.public:
            await self._api.authenticator.visitor(scope.get("client"), extra_headers)
        if route.operators:
            await self._api.authenticator.operator(authorization, scope.get("client"), extra_headers)
        if route.needs_key:
            actor = await self._api.authenticator.actor(authorization, scope.get("client"), extra_headers)
            # A tool's first call: `admit` has counted a part of its cost.
            cost = route.cost - scope.get("openbrain.counted", 0)
            await self._api.rate_limiter.admit(actor, cost, extra_headers)
            if route.permission is not None:
                actor.require(route.permission)
            if route.stores:
                await self._api.pressure.admit()
            actor = actor.speaking_as(parsing.named_agent(headers))
        body: Any = NOTHING
        if route.body is not Nothing:
            body = parsing.parse_body(route.body, await parsing.read_body(headers, receive, route.body_bytes))
            if route.weigh is not None and (more := route.weigh(body) - route.cost) > 0:
                await self._api.rate_limiter.admit(actor, more, extra_headers)
        query: Any = NOTHING
        if route.query is not Nothing:
            query = parsing.parse_query(route.query, scope["query_string"])
        if route.changes and not route.public:
            body, query = await self._admitted(route, actor, body, query)
        call = Call(
            api=self._api,
            actor=actor,
            body=body,
            query=query,
            path=scope.get("path_params", {}),
            headers=headers,
            stream=_stream(route, headers, receive),
        )
        try:
            return await route.handler(call)
        except parsing.Gone:
            raise
        except Exception as error:  # noqa: BLE001 - it may have failed after a commit
            return problem_from(error, _stored(route))

    async def _admitted(self, route: Route, actor: Actor, body: Any, query: Any) -> tuple[Any, Any]:
        """Body and query, as the content policy admits them."""
        await self._api.content_policy.ready()
        admission = self._api.content_policy.of(actor.workspace_id)
        if route.gated:
            body = admitted_model(body, admission)
        return body, query if query is NOTHING else admitted_model(query, admission)

    async def _compressed(self, response: Response, headers: parsing.Headers) -> Response:
        """The response, compressed if it is long and the client accepts that."""
        least, tag = self._api.settings.server.tuning.gzip_bytes, response.headers.get("etag")
        if not least or "content-encoding" in response.headers:
            return response
        short = len(response.body) < least
        if short and tag is None:
            return response
        # Clients cache a response with an entity tag, so it has `vary` even if it is short or a 304.
        headers_out = {**response.headers, "vary": "accept-encoding"}
        if short or not accepts_gzip(headers):
            return replace(response, headers=headers_out)
        if tag is not None:
            headers_out["etag"] = compressed_tag(tag)
        return replace(
            response, body=await gzip_whole(response.body), headers={**headers_out, "content-encoding": "gzip"}
        )


def _stream(route: Route, headers: parsing.Headers, receive: Receive) -> AsyncIterator[bytes] | None:
    if route.form:
        return form_body(headers, receive, route.body_bytes)
    return streamed_body(headers, receive) if route.streamed else None


def _stored(route: Route) -> Stored | None:
    """The outcome to report for a write whose handler failed. None for a route that writes nothing."""
    if not route.changes:
        return None
    return Stored.ASK_AGAIN if route.keyed else Stored.LOOK


NOTHING = Nothing()
_BARE = (204, 304)


def _other_method(method: str, allowed: str) -> Response:
    if method == "OPTIONS":
        return Response(204, b"", "", {"allow": allowed})
    return problem_from(Refused(405, "method_not_allowed", f"use {allowed} here", headers={"allow": allowed}))


async def admit(api: Api, authorization: str, client: tuple[str, int] | None) -> Actor:
    """Authenticate and rate-limit a caller as a route does. For code in the same process, such as the MCP server."""
    try:
        actor = await api.authenticator.actor(authorization, client, [])
        await api.rate_limiter.admit(actor, 1, [])
    except Exception as error:
        if status_of(error) != HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        problem_from(error)
        raise ServerFailed(str(problem_fields(error)["message"])) from None
    return actor


async def not_found(scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer requests to unknown paths."""
    extra_headers = [(b"x-request-id", parsing.request_id(parsing.headers_of(scope["headers"])))]
    problem = problem_from(Refused(404, "not_found", "there is nothing here: see /openapi.json for the routes"))
    await write(problem, send, head=scope["method"] == "HEAD", extra_headers=extra_headers)


async def write(
    response: Response, send: Send, *, head: bool = False, extra_headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """Send a response. `head`: without its body. `extra_headers`: headers that every response has."""
    headers = header_fields(response, extra_headers)
    if response.status not in _BARE:
        headers.append((b"content-type", response.media_type.encode()))
        headers.append((b"content-length", b"%d" % len(response.body)))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else response.body})
