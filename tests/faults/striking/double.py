"""A stand-in for Ollama's /api that can be slow, hang, refuse and answer wrongly, which a real one can't be made to do.

It speaks the protocol of Ollama 0.11. A vector depends on the text alone, so that the verifier can recompute it.
"""

import hashlib
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import orjson

MODEL = "double"
DIMENSIONS = 16

MODES = ("slow", "hang", "error 500", "transient 400", "refusal 400", "wrong dimension", "NaN", "zero", "too few")


def vector(text: str) -> list[float]:
    """Return the double's vector for a text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return [float(number) for number in np.random.default_rng(seed).standard_normal(DIMENSIONS)]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Ignore a client that was killed during its request."""


class Double:
    """One server. `mode` may be changed at any time; '' answers correctly."""

    def __init__(self) -> None:
        self.mode = ""
        self.served: Counter[str] = Counter()
        """How often each text was embedded correctly."""
        self.troubled = 0
        """Number of requests that met a fault."""
        self._server = _Server(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reset(self) -> None:
        self.mode, self.troubled = "", 0
        self.served.clear()

    def answer(self, texts: list[str]) -> tuple[int, bytes]:
        """Return status and body of one /api/embed."""
        mode = self.mode
        if texts == ["a"]:
            # The request that determines the dimensions: it is answered unless the whole server is in trouble.
            mode = mode if mode in {"slow", "hang", "error 500"} else ""
        self.troubled += bool(mode)
        if mode in {"slow", "very slow"}:
            time.sleep(0.8 if mode == "slow" else 8.0)
        if mode == "hang":
            time.sleep(6)
        status, error = {
            "error 500": (500, "llama runner process no longer running: -1"),
            "transient 400": (400, 'do embedding request: Post "http://127.0.0.1:1/embedding": EOF'),
            "refusal 400": (400, "invalid input type"),
            "NaN": (500, "failed to encode response: json: unsupported value: NaN"),
        }.get(mode, (200, ""))
        if error:
            return status, orjson.dumps({"error": error})
        rows = [vector(text) for text in texts]
        if mode == "wrong dimension":
            rows = [row[:-1] for row in rows]
        elif mode == "zero":
            rows = [[0.0] * DIMENSIONS for _ in rows]
        elif mode == "too few":
            rows = rows[1:]
        else:
            self.served.update(texts)
        return 200, orjson.dumps({"model": MODEL, "embeddings": rows})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if double.mode == "error 500":
                    self._send(500, b'{"error": "busy"}')
                    return
                models = [{"name": f"{MODEL}:latest", "digest": "d" * 64}]
                self._send(200, orjson.dumps({"models": models, "version": "0.11.4"}))

            def do_POST(self) -> None:
                asked: dict[str, Any] = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._send(*double.answer(asked["input"]))

            def _send(self, status: int, body: bytes) -> None:
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        return Handler
