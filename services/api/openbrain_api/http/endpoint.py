"""A path of the table as an ASGI application: who, how often, what, the handler, the answer."""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from starlette.types import Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from openbrain.observability import metrics
from openbrain.usecases.auth import Actor
from openbrain_api.http import reading
from openbrain_api.http.admission import Fields
from openbrain_api.http.forms import form_body
from openbrain_api.http.packing import gzipped_whole, packed_tag, takes_gzip
from openbrain_api.http.refused import no_such_route, wrong_method
from openbrain_api.http.reply import Reply, Stored, allowed_methods, fields, problem
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.http.streaming import streamed_body, write_stream
from openbrain_api.ports import Api

NOBODY = Actor(key_id="", name="", workspace_id="", agent_id="", permissions=frozenset())


class Endpoint:
    """All methods of one path, and HEAD where there is GET."""

    def __init__(self, path: str, routes: Sequence[Route], api: Api) -> None:
        self._path = path
        self._routes: Mapping[str, Route] = {route.method: route for route in routes}
        self._allowed = ", ".join(sorted({*self._routes, "OPTIONS"} | ({"HEAD"} if "GET" in self._routes else set())))
        self._api = api
        for route in routes:
            route.body.model_rebuild()  # validators are built now, not by the first request
            route.query.model_rebuild()
        self._seconds = {method: metrics.API_SECONDS.labels(method, path) for method in self._routes}
        self._names = {method: f"{method} {path}" for method in self._routes}
        self._counts: dict[tuple[str, int], Any] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        headers = reading.headers_of(scope["headers"])
        head = scope["method"] == "HEAD"
        method = "GET" if head else scope["method"]
        request_id = reading.request_id(headers)
        beside: Fields = [(b"x-request-id", request_id)]
        route = self._routes.get(method)
        if route is None:
            options = method == "OPTIONS"
            await write(allowed_methods(self._allowed) if options else _wrong(self._allowed), send, beside=beside)
            return
        with bound_contextvars(request_id=request_id.decode()):
            try:
                with metrics.request_span(self._names[method], reading.traceparent(headers)) as span:
                    if span is not None:
                        span.set_attribute("openbrain.request_id", request_id.decode())
                    reply = await self._reply(route, scope, headers, receive, beside)
            except reading.Gone:
                return
            except Exception as error:  # noqa: BLE001 - every failure gets its answer
                reply = problem(error, Stored.NO if route.changes else None)
            if reply.stream is not None:
                await write_stream(reply, receive, send, head=head, beside=beside)
            else:
                await write(await self._packed(reply, headers), send, head=head, beside=beside)
        if reply.gone is None:  # how long somebody listened is no latency
            self._seconds[method].observe(time.perf_counter() - started)
        self._count(method, reply.status)

    async def _reply(
        self, route: Route, scope: Scope, headers: reading.Headers, receive: Receive, beside: Fields
    ) -> Reply:
        actor = NOBODY
        reading.once_each(scope["headers"])
        authorization = headers.get(b"authorization", b"").decode("latin-1")
        if route.public:
            await self._api.door.visitor(scope.get("client"), beside)
        if route.operators:
            await self._api.door.operator(authorization, scope.get("client"), beside)
        if route.needs_key:
            actor = await self._api.door.actor(authorization, scope.get("client"), beside)
            await self._api.admission.admit(actor, route.cost, beside)
            if route.permission is not None:
                actor.require(route.permission)
            if route.stores:
                await self._api.pressure.admit()
            actor = actor.speaking_as(reading.named_agent(headers))
        body: Any = NOTHING
        if route.body is not Nothing:
            body = reading.parse_body(route.body, await reading.read_body(headers, receive, route.body_bytes))
            if route.weigh is not None and (more := route.weigh(body) - route.cost) > 0:
                await self._api.admission.admit(actor, more, beside)
        query: Any = NOTHING
        if route.query is not Nothing:
            query = reading.parse_query(route.query, scope["query_string"], route.many, route.lenient)
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
        except reading.Gone:
            raise
        except Exception as error:  # noqa: BLE001 - it may have come after a commit
            return problem(error, _stored(route))

    async def _packed(self, reply: Reply, headers: reading.Headers) -> Reply:
        """The same, packed where it is long and the client takes it so."""
        least, tag = self._api.settings.server.tuning.gzip_bytes, reply.headers.get("etag")
        if not least or "content-encoding" in reply.headers:
            return reply
        short = len(reply.body) < least
        if short and tag is None:
            return reply
        # What has a tag is kept by clients, also the answer that it is as it was: then it may be short, or packed.
        told = {**reply.headers, "vary": "accept-encoding"}
        if short or not takes_gzip(headers):
            return replace(reply, headers=told)
        if tag is not None:
            told["etag"] = packed_tag(tag)
        return replace(reply, body=await gzipped_whole(reply.body), headers={**told, "content-encoding": "gzip"})

    def _count(self, method: str, status: int) -> None:
        counter = self._counts.get((method, status))
        if counter is None:
            counter = self._counts[method, status] = metrics.API_REQUESTS.labels(method, self._path, str(status))
        counter.inc()


def _stream(route: Route, headers: reading.Headers, receive: Receive) -> AsyncIterator[bytes] | None:
    if route.form:
        return form_body(headers, receive, route.body_bytes)
    return streamed_body(headers, receive) if route.streamed else None


def _stored(route: Route) -> Stored | None:
    """Whether a write whose handler failed may have been stored."""
    if not route.changes:
        return None
    return Stored.ASK_AGAIN if route.keyed else Stored.LOOK


NOTHING = Nothing()
_BARE = (204, 304)


def _wrong(allowed: str) -> Reply:
    return problem(wrong_method(allowed))


async def not_found(scope: Scope, _receive: Receive, send: Send) -> None:
    """What every other path answers."""
    beside = [(b"x-request-id", reading.request_id(reading.headers_of(scope["headers"])))]
    await write(problem(no_such_route()), send, head=scope["method"] == "HEAD", beside=beside)


async def write(reply: Reply, send: Send, *, head: bool = False, beside: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """A reply on the wire. `head`: without its body. `beside`: headers of every answer."""
    headers = fields(reply, beside)
    if reply.status not in _BARE:
        headers.append((b"content-type", reply.media_type.encode()))
        headers.append((b"content-length", b"%d" % len(reply.body)))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else reply.body})
