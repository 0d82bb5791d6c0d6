"""An HTTP server with scripted answers, for faults that a real Ollama can't be made to show."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

Answer = tuple[int, Mapping[str, Any] | bytes]
Script = Callable[[list[str]], Answer]
"""Inputs of one /api/embed -> status and body."""

NAME = "some-model"


def vectors(*rows: list[float]) -> Answer:
    return 200, {"embeddings": list(rows)}


def ones(texts: list[str]) -> Answer:
    return vectors(*([1.0, 1.0, 1.0] for _ in texts))


@contextmanager
def fake_ollama(script: Script, name: str = NAME, digest: Callable[[], str] = lambda: "d" * 64) -> Iterator[str]:
    """Yield the URL of a server that has the model `name` with this digest and embeds by `script`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            models = [{"name": f"{name}:latest", "digest": digest()}]
            self._answer((200, {"models": models, "version": "0.0.0"}))

        def do_POST(self) -> None:
            asked = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer(script(asked["input"]))

        def _answer(self, answer: Answer) -> None:
            status, body = answer
            raw = body if isinstance(body, bytes) else orjson.dumps(body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
