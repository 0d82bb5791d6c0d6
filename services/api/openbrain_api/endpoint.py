"""A path of the table as an ASGI application: who, what, the handler, the answer."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.types import Receive, Scope, Send

from openbrain import telemetry
from openbrain.auth import Actor
from openbrain_api import reading
from openbrain_api.ports import Api
from openbrain_api.refused import wrong_method
from openbrain_api.reply import Reply, problem
from openbrain_api.route import Call, Nothing, Route
from openbrain_api.streaming import streamed_body, write_stream

NOBODY = Actor(key_id="", name="", workspace_id="", agent_id="", permissions=frozenset())


class Endpoint:
    """All methods of one path."""

    def __init__(self, path: str, routes: Sequence[Route], api: Api) -> None:
        self._path = path
        self._routes: Mapping[str, Route] = {route.method: route for route in routes}
        self._allowed = ", ".join(sorted(self._routes))
        self._api = api
        self._seconds = {method: telemetry.API_SECONDS.labels(method, path) for method in self._routes}
        self._names = {method: f"{method} {path}" for method in self._routes}
        self._counts: dict[tuple[str, int], Any] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        route = self._routes.get(method)
        if route is None:
            await write(problem(wrong_method(self._allowed)), send)
            return
        headers: reading.Headers = dict(scope["headers"])
        try:
            with telemetry.request_span(self._names[method], reading.traceparent(headers)):
                reply = await self._reply(route, scope, headers, receive)
        except reading.Gone:
            return
        except Exception as error:  # noqa: BLE001 - every failure gets its answer
            reply = problem(error)
        if reply.stream is None:
            await write(reply, send)
        else:
            await write_stream(reply, receive, send, head=scope["method"] == "HEAD")
        self._seconds[method].observe(time.perf_counter() - started)
        self._count(method, reply.status)

    async def _reply(self, route: Route, scope: Scope, headers: reading.Headers, receive: Receive) -> Reply:
        actor = NOBODY
        if route.needs_key:
            authorization = headers.get(b"authorization", b"").decode("latin-1")
            actor = await self._api.keyring.actor(authorization)
            if route.permission is not None:
                actor.require(route.permission)
            actor = actor.speaking_as(reading.named_agent(headers))
        body: Any = NOTHING
        if route.body is not Nothing:
            body = reading.parse_body(route.body, await reading.read_body(headers, receive))
        query: Any = NOTHING
        if route.query is not Nothing:
            query = reading.parse_query(route.query, scope["query_string"], route.many)
        call = Call(
            api=self._api,
            actor=actor,
            body=body,
            query=query,
            path=scope.get("path_params", {}),
            headers=headers,
            stream=streamed_body(headers, receive) if route.streamed else None,
        )
        return await route.handler(call)

    def _count(self, method: str, status: int) -> None:
        counter = self._counts.get((method, status))
        if counter is None:
            counter = self._counts[method, status] = telemetry.API_REQUESTS.labels(method, self._path, str(status))
        counter.inc()


NOTHING = Nothing()


async def write(reply: Reply, send: Send) -> None:
    """A reply on the wire."""
    headers = [
        (b"content-type", reply.media_type.encode()),
        (b"content-length", str(len(reply.body)).encode()),
        *((name.encode(), value.encode()) for name, value in reply.headers.items()),
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
