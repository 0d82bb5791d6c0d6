import math

import httpx
import pytest

from tests.servers.ollama_server import MODEL
from tests.servers.plugin import Starter
from tests.servers.processes.process import Server
from tests.support.waiting import PATIENCE_S


def embed(url: str, *texts: str) -> list[list[float]]:
    answer = httpx.post(
        f"{url}/api/embed", json={"model": MODEL, "input": texts}, timeout=PATIENCE_S
    ).raise_for_status()
    vectors: list[list[float]] = answer.json()["embeddings"]
    return vectors


def likeness(one: list[float], other: list[float]) -> float:
    return math.sumprod(one, other) if hasattr(math, "sumprod") else sum(a * b for a, b in zip(one, other, strict=True))


def test_vectors_mean_something(ollama_server: Server) -> None:
    cat, kitten, invoice = embed(ollama_server.url, "a cat sleeps", "the kitten is asleep", "unpaid invoice, March")
    assert len(cat) == 384
    assert likeness(cat, cat) == 1.0 or math.isclose(likeness(cat, cat), 1.0, abs_tol=1e-3)
    assert likeness(cat, kitten) > 0.5 > likeness(cat, invoice) + 0.2


@pytest.mark.servers("ollama")
def test_it_answers_again_after_kill_and_restart(private_server: Starter) -> None:
    server = private_server("ollama")
    before = embed(server.url, "the same text")
    server.kill()
    server.start()
    assert likeness(*before, *embed(server.url, "the same text")) > 0.999


@pytest.mark.servers("ollama")
def test_a_model_deleted_from_one_server_stays_in_the_others(private_server: Starter) -> None:
    server = private_server("ollama")
    httpx.request("DELETE", f"{server.url}/api/delete", json={"model": MODEL}, timeout=PATIENCE_S).raise_for_status()
    asked = httpx.post(f"{server.url}/api/embed", json={"model": MODEL, "input": "x"}, timeout=PATIENCE_S)
    assert asked.status_code == httpx.codes.NOT_FOUND
    assert embed(private_server("ollama").url, "x")
