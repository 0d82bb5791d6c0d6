"""Standard input and output of `openbrain mcp`: prepared answers are sent at once, other requests go to the server."""

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from openbrain_mcp.stdio.prepared import TOOLS, Prepared

if TYPE_CHECKING:  # imported by `serve`, when the first answers are out
    from mcp.server import MCPServer

_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600


class Bridge:
    """Serves one client. `asked` is called when it lists the tools, or sends what only the server can answer."""

    def __init__(self, prepared: Prepared, asked: Callable[[], None]) -> None:
        self._prepared = prepared
        self._asked = asked
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._output = _Output()
        self._tasks: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()
        """Set at the end of input."""

    def listen(self) -> None:
        """Start reading. From now on, other code in this process reads an empty standard input; its standard output
        goes to standard error."""
        wire = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        loop = asyncio.get_running_loop()
        threading.Thread(target=_read, args=(wire, loop, self._take), name="stdin", daemon=True).start()

    async def serve(self, server: "MCPServer[Any]") -> None:
        """Let the server answer what is not prepared, until the end of input."""
        from mcp.server.stdio import stdio_server

        known = _Unless(self._output.write, self._prepared.opened_by)
        lowlevel = server._lowlevel_server  # like run_stdio_async, with other streams
        async with stdio_server(_Input(self._lines, self._output.write), known) as (read, write):  # type: ignore[arg-type]
            await lowlevel.run(read, write, lowlevel.create_initialization_options())

    async def flush(self) -> None:
        """Wait until all prepared answers are written."""
        await asyncio.gather(*self._tasks)

    def _take(self, line: str | None) -> None:
        if line is None:
            self.ended.set()
            self._lines.put_nowait(None)
            return
        line = _whole(line)
        opening = self._prepared.opened_by is None
        answer = self._prepared.answer(line)
        if answer is None or opening:  # the server needs the client's opening request
            self._lines.put_nowait(line)
        if answer is None and '"notifications/initialized"' not in line:
            self._asked()
        if answer is not None:
            task = asyncio.create_task(self._output.write(answer + "\n"))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            if f'"{TOOLS}"' in line:
                task.add_done_callback(lambda _: self._asked())


def _read(wire: int, loop: asyncio.AbstractEventLoop, take: Callable[[str | None], None]) -> None:
    with os.fdopen(wire, "r", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            loop.call_soon_threadsafe(take, line)
    loop.call_soon_threadsafe(take, None)


class _Output:
    """Writes line by line, without blocking the event loop."""

    def __init__(self) -> None:
        self._wire = os.dup(1)
        os.dup2(2, 1)
        self._turn = asyncio.Lock()

    async def write(self, line: str) -> None:
        async with self._turn:
            await asyncio.to_thread(_write_all, self._wire, line.encode())


def _write_all(wire: int, text: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # the client has gone: the end of its input follows
        while text:
            text = text[os.write(wire, text) :]


class _Input:
    """The input stream for the library, which drops what it can't parse. `write` answers that."""

    def __init__(self, lines: "asyncio.Queue[str | None]", write: Callable[[str], Awaitable[None]]) -> None:
        self._lines = lines
        self._write = write

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            refusals = _refusals(line)
            for refusal in refusals:
                await self._write(refusal + "\n")
            if not refusals:
                yield line


def _whole(line: str) -> str:
    """The line with half of a surrogate pair, as of an emoji that was cut, as a question mark."""
    if "\\ud" not in line.lower():
        return line
    try:
        return json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace").decode() + "\n"
    except (ValueError, RecursionError):
        return line


def _refusals(line: str) -> list[str]:
    """The answers to a line that the library would drop; none if it can parse it."""
    from mcp_types import JSONRPCNotification, jsonrpc_message_adapter
    from pydantic import ValidationError
    from pydantic_core import from_json

    try:
        parsed = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        if not line.strip():
            return []
    else:
        # A request with an id that is none is taken for a notification.
        if not (isinstance(parsed, JSONRPCNotification) and '"id"' in line and "id" in _read_again(line)):
            return []
    try:
        from_json(line)
    except ValueError as error:
        return [_refusal(_read_again(line), _PARSE_ERROR, f"this can't be read: {error}")]
    message = _read_again(line)
    problem = "send one JSON-RPC 2.0 message a line, with method, id and an object of params"
    return [_refusal(each, _INVALID_REQUEST, problem) for each in (message if isinstance(message, list) else [message])]


def _read_again(line: str) -> Any:
    """Parse the line with a more lenient parser; None if that fails too."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _refusal(message: Any, code: int, problem: str) -> str:
    number = message.get("id") if isinstance(message, dict) else None
    known = number if type(number) in {int, str} else None
    return json.dumps({"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": problem}})


class _Unless:
    """The output stream for the library. Drops the answer to `request`, which the client has already."""

    def __init__(self, write: Callable[[str], Awaitable[None]], request: int | str | None) -> None:
        self._write = write
        self._request = request

    async def write(self, line: str) -> None:
        if self._request is not None:
            message = json.loads(line)
            if message.get("id") == self._request and "method" not in message:
                self._request = None
                return
        await self._write(line)

    async def flush(self) -> None:
        """Do nothing: `write` does not buffer."""
