"""A small server that gives scripted chat completions and keeps the requests."""

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

Reply = tuple[int, Mapping[str, Any] | bytes]
MODEL = "some-model"


@dataclass
class Chat:
    """A running server. `script` gets each request's body; `asked` and `headers` keep the requests."""

    script: Callable[[Mapping[str, Any]], Reply]
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


def says(text: str, *, finish: str = "stop", usage: Mapping[str, int] | None = None) -> Reply:
    """Return a completion with this message."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return 200, {"id": "1", "model": MODEL, "choices": [choice], **({"usage": usage} if usage else {})}


@contextmanager
def fake_chat(script: Callable[[Mapping[str, Any]], Reply]) -> Iterator[Chat]:
    """Run the server while the block runs."""
    chat = Chat(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer((200, {"object": "list", "data": [{"id": MODEL}]}))

        def do_POST(self) -> None:
            body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
            chat.asked.append({"path": self.path, **body})
            chat.headers.append(dict(self.headers))
            self._answer(chat.script(body))

        def _answer(self, reply: Reply) -> None:
            status, body = reply
            raw = body if isinstance(body, bytes) else orjson.dumps(body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Ignore clients that do not wait for the answer: some tests want them."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    chat.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield chat
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
