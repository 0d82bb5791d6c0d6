"""The client's distribution alone needs only httpx and pydantic, and its sync and async classes have the same
methods."""

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from openbrain import NotFound, OpenBrain, SyncOpenBrain, __version__
from openbrain.client.outbox import Kept, Outbox, Write
from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[3]
SHIPPED = tomllib.loads((ROOT / "shared" / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["only-include"]
WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOREIGN = """
    httpx httpcore anyio certifi idna h11 sniffio pydantic pydantic_core annotated_types typing_extensions
    typing_inspection _sysconfigdata
"""
ALONE = """
import importlib, pkgutil, sys
foreign, shipped = sys.argv[1].split(), tuple(sys.argv[2].split())

class OnlyWhatIsShipped:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        known = top in sys.stdlib_module_names or top.startswith(tuple(foreign))
        if not known and name != "openbrain" and not f"{name}.".startswith(shipped):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, OnlyWhatIsShipped())
import openbrain
for name in shipped:
    package = importlib.import_module(name.rstrip("."))
    for found in pkgutil.walk_packages(package.__path__, name):
        importlib.import_module(found.name)
for name in openbrain.__all__:
    getattr(openbrain, name)
try:
    openbrain.subscribe(print, url="http://127.0.0.1:1", redis_url="redis://127.0.0.1:1", workspace="w")
except openbrain.OpenBrainError as error:
    print(error)
"""


def test_what_is_shipped_imports_with_nothing_else() -> None:
    packages = [path.replace("/", ".") + "." for path in SHIPPED if not path.endswith((".py", ".typed"))]
    command = [sys.executable, "-c", ALONE, FOREIGN, " ".join(packages)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "pip install openbrain-memory" in done.stdout


def test_every_file_is_in_one_distribution() -> None:
    left_out = WHOLE["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]

    assert left_out == [f"/shared/{path}" for path in SHIPPED]
    assert f"openbrain-client=={__version__}" in WHOLE["project"]["dependencies"]
    assert (ROOT / "shared" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_both_fronts_have_the_same_methods() -> None:
    methods = {name for name, each in inspect.getmembers(OpenBrain, inspect.isfunction) if not name.startswith("_")}

    assert methods - set(vars(SyncOpenBrain)) == {"delivering"}, "without an event loop nothing runs in the background"


def answer(request: httpx.Request) -> httpx.Response:
    match request.url.path:
        case "/v1/health":
            return httpx.Response(200, json={"status": "ok", "version": "1", "parts": {}})
        case "/v1/brain/export":
            return httpx.Response(200, content=b"one\ntwo\n")
    return httpx.Response(404, json={"error": "not_found", "message": "no such memory"})


@pytest.mark.parametrize("inside", [False, True])
async def test_a_method_waits_for_its_answer(inside: bool) -> None:
    """Also inside a running event loop, as in a notebook."""

    def ask() -> None:
        with SyncOpenBrain("http://brain", transport=httpx.MockTransport(answer)) as brain:
            assert brain.health().status == "ok"
            assert b"".join(brain.export()) == b"one\ntwo\n"
            with pytest.raises(NotFound, match="no such memory"):
                brain.memory("m1")

    if inside:
        ask()
    else:
        await asyncio.to_thread(ask)


@pytest.fixture
def healthy() -> Iterator[str]:
    """The URL of a server that keeps connections open."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = answer(httpx.Request("GET", "http://brain/v1/health")).content
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_client_is_used_in_one_event_loop_after_the_other(healthy: str, tmp_path: Path) -> None:
    """As by a web server that runs each request in a loop of its own."""
    for brain in (OpenBrain(healthy), OpenBrain(healthy, outbox=Outbox(tmp_path / "o"))):
        health = [asyncio.run(brain.health()).status for _ in range(3)]
        asyncio.run(brain.close())
        assert health == ["ok"] * 3


def test_a_forked_process_leaves_its_parents_connections_alone(healthy: str) -> None:
    brain = OpenBrain(healthy)
    with asyncio.Runner() as runner:
        assert runner.run(brain.health()).status == "ok"
        if (child := os.fork()) == 0:
            signal.alarm(round(PATIENCE_S))
            with suppress(BaseException):
                os._exit(0 if asyncio.run(brain.health()).status == "ok" else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert runner.run(brain.health()).status == "ok"
        runner.run(brain.close())


def test_delivering_goes_on_in_another_event_loop(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "o")
    brain = OpenBrain("http://brain", outbox=outbox, transport=httpx.MockTransport(answer), attempts=1)

    async def deliver_for_a_moment() -> None:
        delivering = asyncio.create_task(brain.delivering())
        await asyncio.sleep(0.01)
        assert not delivering.done(), "it waits for a write"
        delivering.cancel()

    for _ in range(2):
        asyncio.run(deliver_for_a_moment())
    asyncio.run(brain.close())


class _Silent(httpx.AsyncByteStream):
    """A body that stops after its first part. To close its connection takes a moment."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"one\n"
        await asyncio.sleep(60)

    async def aclose(self) -> None:
        await asyncio.sleep(0.05)


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Python's own handler: a process started in the background ignores the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_ends_a_loop_over_what_arrives_as_an_interrupt() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=_Silent()))
    interrupt = threading.Timer(0.2, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    with SyncOpenBrain("http://brain", transport=transport) as brain:
        parts = brain.export()
        assert next(parts) == b"one\n"
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the interrupt must not come before it
            interrupt.start()
            next(parts)


async def test_a_client_that_is_closed_leaves_no_thread_waiting() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=_Silent()))
    brain = SyncOpenBrain("http://brain", transport=transport)
    reading, open_still, began = brain.export(), brain.export(), threading.Event()
    assert next(open_still) == b"one\n"

    def read() -> None:
        for _ in reading:
            began.set()

    waiting = asyncio.create_task(asyncio.to_thread(read))
    await asyncio.to_thread(began.wait)
    await asyncio.to_thread(brain.close)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(RuntimeError, match="closed"):
            await waiting
    brain.close()
    open_still.close()
    with pytest.raises(RuntimeError, match="closed"):
        brain.health()


def test_what_waits_is_sent_in_the_background(tmp_path: Path) -> None:
    sent, who = threading.Event(), {"key_id": "k", "name": "n", "workspace_id": "w1", "agent_id": None}

    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("gone")

    def there(request: httpx.Request) -> httpx.Response:
        match request.url.path:
            case "/v1/whoami":
                return httpx.Response(
                    200, json=who | {"permissions": [], "orgs": None, "without_org": True, "act_as": []}
                )
            case "/v1/brain/remember":
                sent.set()
                return httpx.Response(200, json={})
        return answer(request)

    for _ in range(2):  # also in a file that is there already
        down = httpx.MockTransport(gone)
        client = SyncOpenBrain("http://brain", attempts=1, outbox=Outbox(tmp_path / "o"), transport=down)
        with client as brain, pytest.raises(Kept):
            brain.remember({"content": "x", "type": "fact"})
    with SyncOpenBrain("http://brain", outbox=Outbox(tmp_path / "o"), transport=httpx.MockTransport(there)) as brain:
        assert brain.health().status == "ok"
        assert sent.wait(PATIENCE_S)


def test_a_client_works_in_a_process_that_is_forked(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "o")
    with SyncOpenBrain("http://brain", outbox=outbox, transport=httpx.MockTransport(answer)) as brain:
        assert (brain.health().status, outbox.keep(Write("POST", "/v1/thoughts"))) == ("ok", 1)
        if (child := os.fork()) == 0:
            signal.alarm(round(PATIENCE_S))
            with suppress(BaseException):
                os._exit(0 if (brain.health().status, outbox.waiting()) == ("ok", 1) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (brain.health().status, outbox.waiting()) == ("ok", 1)
