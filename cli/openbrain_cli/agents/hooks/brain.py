"""HTTP client for hooks: one request at a time, within the time limit of a hook."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit

from openbrain.domain.access.credentials import checked_address, read_key
from openbrain.domain.errors import OpenBrainError, ServerFailed, SetupError, TryLater

if TYPE_CHECKING:
    from http.client import HTTPConnection
    from socket import socket

WITHIN_S: Final = 2.0
"""Seconds for all requests of one hook together."""
ANSWER_BYTES: Final = 1024 * 1024
_MENDED: Final = (401, 403, 408, 429)
"""Status codes that a later attempt, or another key, may resolve."""


class Refused(OpenBrainError):
    """The brain rejected the request; a retry would not help."""


@dataclass(slots=True)
class Brain:
    """The API, called as the connection's agent."""

    url: str
    key: str
    agent: str
    within_s: float = WITHIN_S
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.within_s

    def get(self, path: str, **query: object) -> dict[str, Any]:
        """Return the response. Raise `TryLater` if none came in time, `Refused` if it is not a success."""
        query_string = urlencode([(name, value) for name, value in query.items() if value not in (None, "")])
        return self._ask("GET", f"{path}?{query_string}" if query_string else path)

    def post(self, path: str, body: Mapping[str, Any], *, key: str = "") -> dict[str, Any]:
        """Write to the API. Repeating a request with the same idempotency `key` stores nothing new."""
        return self._ask("POST", path, json.dumps(body).encode(), {"Idempotency-Key": key} if key else {})

    @property
    def context_path(self) -> str:
        return f"/v1/brain/agent/{quote(self.agent, safe='')}/context"

    def _ask(
        self, method: str, path: str, body: bytes | None = None, more: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        import http.client

        left = self._until - time.monotonic()
        if left <= 0:
            raise TryLater("the time limit of this hook has passed")
        address = urlsplit(self.url)
        secure = address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(address.hostname or "", address.port, timeout=left)
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Accept-Encoding": "identity",
            "Connection": "close",
            **(more or {}),
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            _connect(connection, left)
            with _ended_at(self._until, connection.sock):
                connection.request(method, address.path.rstrip("/") + path, body=body, headers=headers)
                response = connection.getresponse()
                raw = response.read(ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            # The other side may reset a connection that we ended.
            late = isinstance(error, ConnectionError) and time.monotonic() >= self._until
            why = "did not answer in time" if late else f"can't be reached ({type(error).__name__})"
            raise TryLater(f"{self.url} {why}") from None
        finally:
            connection.close()
        if response.status == 500:
            raise ServerFailed(f"{self.url} answers {response.status}")
        if response.status >= 500 or response.status in _MENDED:
            raise TryLater(f"{self.url} answers {response.status}")
        if response.status >= 300 or len(raw) > ANSWER_BYTES:
            raise Refused(f"{self.url} answers {response.status}")
        try:
            parsed = json.loads(raw)
        except ValueError:
            raise TryLater(f"{self.url} did not answer in time, or not as an OpenBrain API") from None
        if not isinstance(parsed, dict):
            raise Refused(f"{self.url} does not answer as an OpenBrain API")
        return parsed


def _connect(connection: "HTTPConnection", within_s: float) -> None:
    """Connect in a thread that is given up after that time: no timeout covers the look-up of a name, and that of a
    socket counts for each address of the host anew."""
    import threading

    failed: list[Exception] = []

    def connect() -> None:
        try:
            connection.connect()
        except Exception as error:  # noqa: BLE001 - raised again below
            failed.append(error)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(within_s)
    if thread.is_alive():
        raise TimeoutError
    if failed:
        raise failed[0]


@contextmanager
def _ended_at(until: float, connected: "socket") -> Iterator[None]:
    """End the connection at that time. The timeout of a socket would start anew with each byte that arrives."""
    import socket
    import threading

    def end() -> None:
        with suppress(OSError):
            # Not TLS' own shutdown, which waits for the other side.
            socket.socket.shutdown(connected, socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, until - time.monotonic()), end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def brain_of(folder: Path, record: Mapping[str, Any], within_s: float | None = None) -> Brain:
    """Return the brain that the connection was made with."""
    url = str(record.get("url") or "")
    if not url:
        try:
            url = (Path(str(record["data"])) / "url").read_text(encoding="utf-8").strip()
        except OSError:
            raise TryLater("no OpenBrain runs on this machine") from None
    if not url:
        raise SetupError(f"the connection in {folder} names no brain: connect again")
    checked_address(url, allow_http=bool(record.get("allow_http")))
    return Brain(url, read_key(folder / "key"), str(record["agent"]), within_s or WITHIN_S)
