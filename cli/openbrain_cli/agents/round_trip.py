"""Check that the MCP server works as configured: start it, list its tools, and call one."""

import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Any, Final, cast

from openbrain.domain.errors import SetupError

WITHIN_S: Final = 60.0
CALLED: Final = "brain_list"
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "openbrain-connect", "version": "1"},
}


def tools_answer(command: Sequence[str]) -> tuple[str, ...]:
    """Call a tool that reads, and return the names of all tools. Raise `SetupError` with the reason if that fails."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise SetupError(f"{command[0]} can't be started ({error.strerror})") from None
        deadline = threading.Timer(WITHIN_S, process.kill)
        deadline.start()
        server = _Server(cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout), errors)
        try:
            return server.tool_names()
        finally:
            with contextlib.suppress(BrokenPipeError):
                server.requests.close()
            process.wait()
            deadline.cancel()
            server.answers.close()


class _Server:
    """A running MCP server, by its streams."""

    def __init__(self, requests: IO[bytes], answers: IO[bytes], errors: IO[bytes]) -> None:
        self.requests, self.answers, self._errors = requests, answers, errors

    def tool_names(self) -> tuple[str, ...]:
        self._ask(1, "initialize", _HELLO)
        self._tell({"method": "notifications/initialized"})
        tools = self._ask(2, "tools/list", {})["tools"]
        answer = self._ask(3, "tools/call", {"name": CALLED, "arguments": {"limit": 1}})
        if answer.get("isError"):
            texts = [str(part.get("text", "")) for part in answer.get("content", ())]
            raise SetupError(f"{CALLED} failed: {' '.join(texts)}")
        return tuple(str(tool["name"]) for tool in tools)

    def _ask(self, number: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._tell({"id": number, "method": method, "params": params})
        while line := self.answers.readline():
            answer = json.loads(line)
            if answer.get("id") != number:
                continue
            if "error" in answer:
                raise SetupError(f"{method} failed: {answer['error'].get('message', '')}")
            result: dict[str, Any] = answer["result"]
            return result
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        raise SetupError(f"the MCP server exited during {method}{': ' if lines else ''}{lines[-1] if lines else ''}")

    def _tell(self, message: Mapping[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):  # `_ask` notices that the server has exited
            self.requests.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self.requests.flush()
