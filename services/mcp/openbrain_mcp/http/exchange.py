"""Answers a request by a plain call. For protocol revisions with a handshake, the SDK creates streams and tasks for
each request; without sessions they would only carry one request and its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import anyio
import structlog
from mcp.server.connection import Connection
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.runner import serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    DEFAULT_NEGOTIATED_VERSION,
    INTERNAL_ERROR,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    JSONRPCRequest,
    TextContent,
)
from mcp_types import JSONRPCResponse as Result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openbrain.domain.errors import error_places
from openbrain_mcp.server import BrainServer, outcome
from openbrain_mcp.tools.spec import ToolSpec

JSON = "application/json"
_LATER_FIELDS = {"result_type"}
_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)
_log = structlog.get_logger(__name__)


class Exchange:
    """Answers requests of revisions with a handshake. Everything else goes to `sdk`, which also reports what is wrong
    with an unreadable request and refuses bodies above `body_bytes`."""

    def __init__(self, brain: BrainServer, sdk: ASGIApp, body_bytes: int) -> None:
        self._brain, self._server = brain, brain.session_manager.app
        self._sdk, self._body_bytes = sdk, body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
        if version not in HANDSHAKE_PROTOCOL_VERSIONS or not self._readable(request):
            await self._sdk(scope, receive, send)
            return
        body = await request.body()
        try:
            message = JSONRPCRequest.model_validate_json(body, by_name=False)
        except ValidationError:
            await self._sdk(scope, _replayed(body, receive), send)
            return
        content = await self._content(message, version, request)
        await Response(content, HTTPStatus.OK, media_type=JSON)(scope, receive, send)

    async def _content(self, message: JSONRPCRequest, version: str, request: Request) -> str:
        """The answer as JSON."""
        if message.method != "tools/call" or (call := self._brain.parsed_call(message.params or {})) is None:
            answer = await self._answer(message, version, request)
            return answer.model_dump_json(by_alias=True, exclude_unset=True)
        result = await self._call(*call, request)
        shown = result.model_dump_json(by_alias=True, exclude_none=True, exclude=_LATER_FIELDS)
        return f'{{"jsonrpc":"2.0","id":{to_json(message.id).decode()},"result":{shown}}}'

    def _readable(self, request: Request) -> bool:
        length = request.headers.get("content-length", "")
        return (
            request.headers.get("content-type", "").partition(";")[0].rstrip().lower() == JSON
            and check_accept_headers(request)[0]
            and length.isdecimal()
            and int(length) <= self._body_bytes
        )

    async def _call(self, tool: ToolSpec, arguments: Mapping[str, Any], request: Request) -> CallToolResult:
        """Call the tool without the SDK, whose checks cost more than a write. Failures have the SDK's wording."""
        message = f"Error executing tool {tool.name}"
        try:
            return await outcome(tool, await self._brain.clients(request), arguments)
        except ToolError as error:
            message = f"{message}: {error}"
        except Exception as error:  # noqa: BLE001 - every failure gets its answer
            _log.error("mcp.request_failed", error=type(error).__name__, where=error_places(error))
        return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)

    async def _answer(self, message: JSONRPCRequest, version: str, request: Request) -> Result | JSONRPCError:
        asking = _Asking(message.id, ServerMessageMetadata(request_context=request, can_send_request=False))
        connection = Connection.from_envelope(version, None, None)
        try:
            result = await serve_one(
                self._server, asking, message.method, message.params, connection=connection, lifespan_state={}
            )
        except Exception as error:  # noqa: BLE001 - every failure gets its answer
            data = handler_exception_to_error_data(error)
            if data is None:
                _log.error("mcp.request_failed", error=type(error).__name__, where=error_places(error))
                data = ErrorData(code=INTERNAL_ERROR, message="something went wrong here: it was logged")
            return JSONRPCError(jsonrpc="2.0", id=message.id, error=data)
        return Result(jsonrpc="2.0", id=message.id, result=result)


@dataclass
class _Asking:
    """A request as the SDK's handlers see it: only the answer is sent to the client."""

    request_id: int | str
    message_metadata: ServerMessageMetadata
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(
        self, method: str, _params: Mapping[str, Any] | None, _opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None: ...

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None: ...


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns the body already read, then whatever follows."""
    unread = [body]

    async def received() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return received
