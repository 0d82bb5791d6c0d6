"""The answers of `openbrain mcp` before the MCP library is imported equal the library's own, byte for byte."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from openbrain_mcp.app import PATH, with_mcp
from openbrain_mcp.stdio import bridge as stdio_bridge
from openbrain_mcp.stdio import prepare, prepared
from openbrain_mcp.stdio.prepared import HANDSHAKE, Prepared
from tests.mcp.support import bridge
from tests.support.api.brain import Brain, http
from tests.support.cli.terminal import PROGRAM, Terminal

LISTS = prepare.LISTS
JSON = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
Say = Callable[..., None]
Hear = Callable[..., Awaitable[list[bytes]]]


def line(method: str, params: Any = None, number: Any = 1, **more: Any) -> str:
    said = {"jsonrpc": "2.0", "id": number, "method": method, **more}
    return orjson.dumps(said if params is None else {**said, "params": params}).decode()


def told(method: str, params: Any = None) -> str:
    return orjson.dumps({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}).decode()


def hello(revision: str, **other: Any) -> dict[str, Any]:
    return {**prepare.HELLO, "protocolVersion": revision, **other}


async def test_the_file_holds_what_the_server_answers() -> None:
    """If this fails, run `python -m openbrain_mcp.stdio.prepare`."""
    stored = Path(prepared.__file__).with_name(prepared.FILE).read_text("utf-8")

    assert stored == prepare.text(await prepare.answers())


@contextlib.asynccontextmanager
async def stdio(
    tmp_path: Path, url: str = "http://127.0.0.1:1", program: Path = PROGRAM
) -> AsyncIterator[tuple[Say, Hear]]:
    """A function that sends lines to the command, and one that returns its next answers."""
    environment = Terminal(tmp_path, tmp_path / "data").env(
        {"OPENBRAIN_URL": url, "OPENBRAIN_API_KEY": "ob_" + "x" * 43}
    )
    async with bridge(environment, program) as (_, put, out):

        def say(*lines: str) -> None:
            put.write("".join(each + "\n" for each in lines).encode())

        async def hear(count: int = 1) -> list[bytes]:
            return [await out.readline() for _ in range(count)]

        yield say, hear


async def test_a_list_is_the_same_over_http_for_all_who_shake_hands(brain: Brain) -> None:
    lines = [line(method, None, 2) for method in LISTS]
    app, key = with_mcp(brain.app()), await brain.key()
    async with app.router.lifespan_context(app), http(app, key) as client:
        for revision in (*HANDSHAKE, "1999-01-01"):
            opening = line("initialize", hello(revision), "one")
            headers = JSON | {"mcp-protocol-version": revision if revision in HANDSHAKE else HANDSHAKE[-1]}
            answers = Prepared()
            for each in (opening, *lines):
                assert answers.answer(each) == (await client.post(PATH, content=each, headers=headers)).text


async def test_a_list_is_the_same_over_http_for_all_who_send_an_envelope(brain: Brain) -> None:
    answers = Prepared()
    app, key = with_mcp(brain.app()), await brain.key()
    async with app.router.lifespan_context(app), http(app, key) as client:
        for method in ("server/discover", *LISTS):
            each = line(method, prepare.ENVELOPE, 3)
            headers = JSON | {"mcp-protocol-version": prepared.ENVELOPE, "mcp-method": method}
            assert answers.answer(each) == (await client.post(PATH, content=each, headers=headers)).text


OPENING = line("initialize", hello("2025-06-18"))
READY = told("notifications/initialized")
NOT_PREPARED = [
    "no JSON",
    "[]",
    "5",
    line("tools/list", number=None),
    line("tools/list", number=1.5),
    line("tools/list", number=True),
    line("tools/list", jsonrpc="1.0"),
    line("tools/list", {"cursor": "x"}),
    line("tools/list", []),
    line("tools/list", {"_meta": 5}),
    line("tools/list", prepare.ENVELOPE),
    line("tools/call", {"name": "brain_list"}),
    line("server/discover", prepare.ENVELOPE),
    line("initialize", hello("2025-06-18")),
    line("no/such"),
]


@pytest.mark.parametrize("said", NOT_PREPARED)
def test_what_is_not_prepared_is_the_servers_to_answer(said: str) -> None:
    answers = Prepared()

    assert answers.answer(OPENING)
    if "initialize" not in said:
        assert answers.answer(said) is None
    assert (
        answers.answer(line("ping", {"_meta": {"progressToken": 5}}, "p")) == '{"jsonrpc":"2.0","id":"p","result":{}}'
    )


@pytest.mark.parametrize(
    "opening",
    [
        line("tools/list"),
        line("initialize"),
        line("initialize", hello("2025-06-18", capabilities=5)),
        line("initialize", hello("2025-06-18", capabilities={"roots": "yes"})),
        line("initialize", hello("2025-06-18", clientInfo={"name": "x"})),
        line("initialize", hello("2025-06-18", more=1)),
        line("initialize", hello(5)),  # type: ignore[arg-type]
        line("server/discover"),
        line("server/discover", {"_meta": {**prepare.ENVELOPE["_meta"], prepared._REVISION: "2027-01-01"}}),
        line("ping"),
    ],
)
def test_whoever_opens_otherwise_hears_the_server_alone(opening: str) -> None:
    answers = Prepared()

    assert answers.answer(opening) is None
    assert answers.answer(OPENING) is None
    assert answers.answer(line("tools/list")) is None
    assert answers.opened_by is None


async def test_what_follows_the_lists_is_the_servers(tmp_path: Path) -> None:
    async with stdio(tmp_path) as (say, hear):
        say(OPENING, READY, line("tools/list", None, 2))
        opened, listed = await hear(2)
        say(line("no/such", None, 3))
        (unknown,) = map(orjson.loads, await hear())
        say(line("initialize", hello("2025-06-18"), 4), line("tools/list", None, 5))
        later = {answer["id"]: answer for answer in map(orjson.loads, await hear(2))}

    before = Prepared()
    assert opened.decode() == f"{before.answer(OPENING)}\n"
    assert listed.decode() == f"{before.answer(line('tools/list', None, 2))}\n"
    assert (unknown["id"], unknown["error"]["code"]) == (3, -32601)
    assert later[5]["result"] == orjson.loads(listed)["result"]


async def test_every_request_that_can_not_be_read_is_answered(tmp_path: Path, forking: Path) -> None:
    deep = [f"{'[' * depth}{']' * depth}" for depth in (500, 5000)]
    call = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":{"x":%s}}}'
    async with stdio(tmp_path, program=forking) as (say, hear):
        say(OPENING, READY, call % (2, "x", deep[0]), call % (3, "x", deep[1]), "no JSON")
        refused = list(map(orjson.loads, (await hear(4))[1:]))
        say(call % (4, r"no\ud83d", "5"), line("ping", None, "half").replace("half", r"half\ud83d"))
        cut = {answer["id"]: answer for answer in map(orjson.loads, await hear(2))}

    assert [(each["id"], each["error"]["code"]) for each in refused] == [(2, -32700), (None, -32700), (None, -32700)]
    assert "recursion limit exceeded" in refused[0]["error"]["message"]
    assert cut.keys() == {4, "half?"}


async def test_every_request_that_is_no_message_is_answered(tmp_path: Path, forking: Path) -> None:
    wrong = [
        '{"id":2,"method":"ping"}',
        '{"jsonrpc":"2.0","id":3,"method":"tools/list","params":[]}',
        '{"jsonrpc":"2.0","id":4}',
        '{"jsonrpc":"2.0","id":true,"method":"ping"}',
        '{"jsonrpc":"2.0","id":null,"method":"ping"}',
        f"[{line('ping', None, 5)},{line('tools/list', None, 6)}]",
        '"ping"',
    ]
    async with stdio(tmp_path, program=forking) as (say, hear):
        say(OPENING, READY, *wrong, line("ping", None, 7))
        answers = list(map(orjson.loads, await hear(10)))

    refused = [(each["id"], each["error"]["code"]) for each in answers if "error" in each]
    assert refused == [(number, -32600) for number in (2, 3, 4, None, None, 5, 6, None)]
    assert {each["id"] for each in answers if "result" in each} == {1, 7}


def test_a_client_that_reads_no_more_is_no_error() -> None:
    """It has gone; the end of its input follows."""
    reads, writes = os.pipe()
    os.close(reads)
    try:
        stdio_bridge._write_all(writes, b"{}\n")
    finally:
        os.close(writes)


async def test_a_call_that_is_taken_back_holds_up_nothing(tmp_path: Path, forking: Path) -> None:
    came, gone = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        of_call = b"/v1/whoami" not in head  # the outbox sends that for itself
        if of_call:
            came.set()
        await reader.read()
        if of_call:
            gone.set()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, stdio(tmp_path, url, forking) as (say, hear):
        say(OPENING, READY, line("tools/call", {"name": "brain_list", "arguments": {}}, 2))
        await came.wait()
        say(told("notifications/cancelled", {"requestId": 2}))
        await gone.wait()
        say(line("ping", None, 3))
        answered = [orjson.loads(each)["id"] for each in await hear(2)]

    assert answered[0] == 1
    assert answered[1] in {2, 3}
