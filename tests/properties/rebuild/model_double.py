"""A quick stand-in for Ollama's /api with two models, as a process of its own with its port as argument.

For runs over so many memories that a real model would take days. A vector is the direction of the sum of its words'
random directions: always the same for a text, nearer for texts that share words, and of no use beside the other
model's. It knows no language, has no window and is never in trouble: nothing that is said about the quality of recall,
about a model's limits or its failures may be shown by it.
"""

import hashlib
import sys
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

MODELS = {"double-one": 384, "double-two": 256}
"""Model names and their dimensions."""


@cache
def _word(model: str, word: str) -> "NDArray[np.float32]":
    seed = int.from_bytes(hashlib.sha256(f"{model} {word}".encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(MODELS[model], dtype=np.float32)


def vector(model: str, text: str) -> "NDArray[np.float32]":
    """The unit vector that a model returns for a text."""
    words = np.array([_word(model, each) for each in text.lower().split() or [""]])
    total = words.sum(axis=0)
    found: NDArray[np.float32] = total / np.float32(np.linalg.norm(total))
    return found


class Handler(BaseHTTPRequestHandler):
    """GET returns version and models at any path, POST embeds."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        models = [{"name": f"{name}:latest", "digest": name.encode().hex() * 3} for name in MODELS]
        self._send(200, orjson.dumps({"models": models, "version": "0.11.4"}))

    def do_POST(self) -> None:
        asked: dict[str, Any] = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = asked["model"].removesuffix(":latest")
        if name not in MODELS:
            self._send(404, b'{"error": "model not found"}')
            return
        rows = np.array([vector(name, each) for each in asked["input"]])
        self._send(200, orjson.dumps({"model": name, "embeddings": rows}, option=orjson.OPT_SERIALIZE_NUMPY))

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Do not log."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Ignore a client that was killed in the middle."""


if __name__ == "__main__":
    _Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
