"""The server's description and lists, answered before the MCP library is imported.

`prepared.json` holds the server's own answers. `prepare.py` writes it, and a test compares it with the server.
"""

import json
from collections.abc import Collection
from importlib import resources
from typing import Any

from openbrain.domain.version import __version__

FILE = "prepared.json"
TOOLS = "tools/list"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol revisions opened with `initialize`. A client with an unknown one is offered the last."""
_META = "io.modelcontextprotocol/"
_REVISION, _CLIENT, _CAPABILITIES = (_META + name for name in ("protocolVersion", "clientInfo", "clientCapabilities"))
_SERVER = _META + "serverInfo"
ENVELOPE = "2026-07-28"
"""The protocol revision in which every request identifies its client."""


class Prepared:
    """Answers one client. Its first request decides the protocol form; requests that do not fit go to the server."""

    def __init__(self, toolsets: Collection[str] = ("core",)) -> None:
        stored: dict[str, dict[str, Any]] = json.loads(resources.files(__package__).joinpath(FILE).read_text("utf-8"))
        self._tools = {name for name, toolset in stored.pop("toolsets").items() if toolset in toolsets}
        self._answers = stored
        self._speaks = ""
        self.opened_by: int | str | None = None
        """The id of the first request, if it was answered from here."""

    def answer(self, line: str) -> str | None:
        """Return the answer line, or None if the server has to answer."""
        message = _request(line)
        if message is None:
            return None
        result = self._result(message["method"], message.get("params", {}))
        if not self._speaks:
            self._speaks = "the server's" if result is None else _speaks(message["method"])
            self.opened_by = None if result is None else message["id"]
        if result is None:
            return None
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return json.dumps(answer, separators=(",", ":"), ensure_ascii=False)

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        speaks = self._speaks or _speaks(method)
        answer = self._answers.get(speaks, {}).get(method)
        if answer is None or not (_FITS.get(method) or _FITS[speaks])(params):
            return None
        if method == "initialize":
            version = params["protocolVersion"]
            answer = {**answer, "protocolVersion": version if version in HANDSHAKE else HANDSHAKE[-1]}
        if method == TOOLS:
            answer = {**answer, "tools": [tool for tool in answer["tools"] if tool["name"] in self._tools]}
        return _of_this_version(answer)


def _speaks(method: str) -> str:
    return "handshake" if method == "initialize" else "envelope"


def _request(line: str) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.keys() - {"jsonrpc", "id", "method", "params"}:
        return None
    fits = (
        message.get("jsonrpc") == "2.0"
        and type(message.get("id")) in {int, str}
        and isinstance(message.get("method"), str)
        and isinstance(message.get("params", {}), dict)
    )
    return message if fits else None


def _opens(params: dict[str, Any]) -> bool:
    return (
        params.keys() == {"protocolVersion", "capabilities", "clientInfo"}
        and isinstance(params["protocolVersion"], str)
        and _is_client(params["clientInfo"])
        and _is_capabilities(params["capabilities"])
    )


def _bare(params: dict[str, Any]) -> bool:
    meta = params.get("_meta", {})
    return not params.keys() - {"_meta"} and isinstance(meta, dict) and not meta.keys() - {"progressToken"}


def _enveloped(params: dict[str, Any]) -> bool:
    meta = params.get("_meta")
    return (
        params.keys() == {"_meta"}
        and isinstance(meta, dict)
        and meta.keys() - {"progressToken"} == {_REVISION, _CLIENT, _CAPABILITIES}
        and meta[_REVISION] == ENVELOPE
        and _is_client(meta[_CLIENT])
        and _is_capabilities(meta[_CAPABILITIES])
    )


_FITS = {"initialize": _opens, "handshake": _bare, "envelope": _enveloped}


def _is_client(given: Any) -> bool:
    if not isinstance(given, dict) or given.keys() - {"name", "title", "version", "description", "websiteUrl"}:
        return False
    return {"name", "version"} <= given.keys() and all(isinstance(item, str) for item in given.values())


def _is_capabilities(given: Any) -> bool:
    """True for nested objects of booleans. The server handles anything else."""
    return isinstance(given, dict) and all(type(item) is bool or _is_capabilities(item) for item in given.values())


def _of_this_version(result: dict[str, Any]) -> dict[str, Any]:
    if "serverInfo" in result:
        return {**result, "serverInfo": {**result["serverInfo"], "version": __version__}}
    if _SERVER in result.get("_meta", {}):
        return {**result, "_meta": {_SERVER: {**result["_meta"][_SERVER], "version": __version__}}}
    return result
