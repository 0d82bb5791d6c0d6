"""On a real socket, requests that never end or never begin are ended, and other clients are served meanwhile."""

import asyncio

import pytest

from openbrain_cli.system.http.connections import PIPELINED, Bounds
from tests.support.processes.http_peer import App, Connect, Peer, serving
from tests.support.waiting import PATIENCE_S

HEAD = 64 * 1024
QUICK = Bounds(head_s=0.2, body_s=0.3)
POST = b"POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
ENDLESS = {
    "request line": (b"GET /", b"a"),
    "query": (b"GET /?", b"a=b&"),
    "header name": (POST, b"a"),
    "header value": (POST + b"A: ", b"a"),
    "headers": (POST, b"A: b\r\n"),
    "empty headers": (POST, b"A:\r\n"),
    "spaces": (POST + b"A:", b" "),
    "lines before the request": (b"", b"\r\n"),
    "zeros of a chunk's size": (CHUNKED, b"0"),
    "extension of a chunk": (CHUNKED + b"5;", b"a"),
    "extension's value": (CHUNKED + b'5;a="', b"a"),
    "trailer name": (CHUNKED + b"0\r\n", b"a"),
    "trailer value": (CHUNKED + b"0\r\nA: ", b"a"),
    "trailers": (CHUNKED + b"0\r\n", b"A: b\r\n"),
    "head behind a request": (WHOLE + POST + b"A: ", b"a"),
    "headers behind a request": (WHOLE + POST, b"A: b\r\n"),
}
HALF = {
    "half a request line": b"GET / HT",
    "half a header": POST + b"Conte",
    "no end of the head": POST + b"A: b\r\n",
    "an empty line": b"\r\n",
    "no body": POST + b"Content-Length: 5\r\n\r\n",
    "half a body": POST + b"Content-Length: 5\r\n\r\nab",
    "no chunk": CHUNKED,
    "half a chunk": CHUNKED + b"5\r\nab",
    "no last chunk": CHUNKED + b"2\r\nab\r\n",
    "half a trailer": CHUNKED + b"0\r\nA: b",
    "half a second request": WHOLE + POST,
}


async def is_served(connect: Connect) -> bool:
    """True if another client's small request is answered."""
    peer = await connect()
    await peer.say(WHOLE)
    return await peer.status() == 200


def statuses(heard: bytes) -> list[int]:
    return [int(each[:3]) for each in heard.split(b"HTTP/1.1 ")[1:]]


async def test_whatever_does_not_end_is_refused_while_others_are_served() -> None:
    async def send(connect: Connect, begin: bytes, piece: bytes) -> list[int]:
        peer = await connect()
        heard = asyncio.ensure_future(peer.heard())
        await peer.say(begin)
        part, sent = piece * (16_384 // len(piece)), 0
        while not heard.done() and sent < 8 * 1024 * 1024:
            await peer.say(part)
            sent += len(part)
            await asyncio.sleep(0)
        peer.close()
        return statuses(await heard)

    async with serving(App(), Bounds()) as connect:
        sending = {name: asyncio.ensure_future(send(connect, *case)) for name, case in ENDLESS.items()}
        while not all(each.done() for each in sending.values()):
            assert await is_served(connect)
        told = {name: await each for name, each in sending.items()}
    before = {name: [200] if "behind" in name else [] for name in ENDLESS}
    assert told == {name: [*before[name], 431] for name in ENDLESS}


@pytest.mark.parametrize(("size", "status"), [(HEAD, 200), (HEAD + 1, 431)])
@pytest.mark.parametrize("parts", [1, 7])
async def test_a_head_may_have_64_kib(size: int, status: int, parts: int) -> None:
    begin, end = b"GET / HTTP/1.1\r\nHost: a\r\nA: ", b"\r\n\r\n"
    whole = begin + b"a" * (size - len(begin) - len(end)) + end
    async with serving(App(), Bounds()) as connect:
        peer = await connect()
        step = len(whole) // parts + 1
        for start in range(0, len(whole), step):
            await peer.say(whole[start : start + step])
        assert await peer.status() == status


async def test_a_head_that_comes_with_another_request_is_measured_too() -> None:
    headers = b"".join(b"H%d: %s\r\n" % (n, b"a" * 1000) for n in range(70))
    async with serving(App(), Bounds()) as connect:
        peer = await connect()
        await peer.say(WHOLE + POST + headers + b"\r\n")
        assert 200 not in statuses(await peer.heard())[1:]


async def test_what_is_half_sent_is_ended() -> None:
    async def half(connect: Connect, said: bytes) -> list[int]:
        peer = await connect()
        await peer.say(said)
        return statuses(await peer.heard())

    async with serving(App(), QUICK) as connect:
        everyone = asyncio.gather(*(half(connect, said) for said in [*HALF.values(), b""] for _ in range(8)))
        assert await is_served(connect)
        told = await everyone
    first = told[::8]
    assert first == [[200, 408] if "second" in name else [408] for name in HALF] + [[]]
    assert told == [each for each in first for _ in range(8)]


async def test_a_head_that_comes_byte_by_byte_has_no_more_time() -> None:
    async with serving(App(), QUICK) as connect:
        peer = await connect()
        heard = asyncio.ensure_future(peer.heard())
        for each in POST + b"A: " + b"a" * 10_000:
            await peer.say(bytes([each]))
            if heard.done():
                break
            await asyncio.sleep(0.01)
        assert statuses(await heard) == [408]


async def test_a_body_that_goes_on_has_all_the_time() -> None:
    async with serving(App(), Bounds(head_s=0.2, body_s=0.5)) as connect:
        peer = await connect()
        await peer.say(POST + b"Content-Length: 8\r\n\r\n")
        for _ in range(8):  # longer than any allowed silence
            await asyncio.sleep(0.1)
            await peer.say(b"a")
        assert await peer.status() == 200


async def test_extensions_of_chunks_are_no_body_that_goes_on() -> None:
    async with serving(App(), QUICK) as connect:
        peer = await connect()
        heard = asyncio.ensure_future(peer.heard())
        await peer.say(CHUNKED + b"5;")
        while not heard.done():
            await peer.say(b"a")
            await asyncio.sleep(0.01)
        assert statuses(await heard) == [408]


async def test_an_answer_may_take_as_long_as_it_takes() -> None:
    app = App()
    async with serving(app, QUICK) as connect:
        peers = [await connect() for _ in range(3)]
        asked = b"POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab"
        for peer, behind in zip(peers, (b"", WHOLE, POST), strict=True):
            await peer.say(asked + behind)
        ended = await connect()
        await ended.say(b"GET")
        assert statuses(await ended.heard()) == [408]  # so long, and longer
        app.ready.set()
        assert [await peer.status() for peer in peers] == [200, 200, 200]


async def test_a_body_behind_its_answer_is_not_waited_for() -> None:
    async with serving(App(), QUICK) as connect:
        peer = await connect()
        heard = asyncio.ensure_future(peer.heard())
        await peer.say(b"POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n")
        assert statuses(await heard) == [200]


async def test_a_client_that_takes_nothing_of_its_answer_is_left() -> None:
    app = App()
    async with serving(app, QUICK) as connect:
        peer = await connect()
        await peer.say(b"GET /flood HTTP/1.1\r\nHost: a\r\n\r\n")
        assert await peer.status() == 200
        peer.hang()
        async with asyncio.timeout(PATIENCE_S):
            await app.left.wait()
        assert await is_served(connect)


async def test_half_sent_requests_take_nobodys_place() -> None:
    async with serving(App(), Bounds(connections=8)) as connect:
        for said in (b"", b"GET /", WHOLE, POST + b"Content-Length: 5\r\n"):
            for _ in range(8):
                await (await connect()).say(said)
            assert await is_served(connect)


async def test_where_all_are_being_served_the_next_is_told_to_wait() -> None:
    app = App()
    async with serving(app, Bounds(connections=4)) as connect:
        peers = [await connect() for _ in range(4)]
        for peer in peers:
            await peer.say(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
        while (heard := await _answer(await connect())) == b"":
            pass
        assert statuses(heard) == [503]
        assert b"retry-after: 1" in heard
        app.ready.set()
        assert [await peer.status() for peer in peers] == [200] * 4
        assert await is_served(connect)


async def _answer(peer: Peer) -> bytes:
    await peer.say(WHOLE)
    return await peer.heard()


async def test_requests_behind_each_other_have_a_bound() -> None:
    app = App()
    async with serving(app, Bounds()) as connect:
        peer = await connect()
        await peer.say(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n" + WHOLE * (PIPELINED + 10))
        assert await peer.heard() == b""


async def test_a_trailer_is_no_header() -> None:
    app = App()
    async with serving(app, Bounds()) as connect:
        peer = await connect()
        await peer.say(CHUNKED + b"2\r\nab\r\n0\r\nAuthorization: Bearer other\r\n\r\n")
        assert await peer.status() == 200
    assert [name for name, _ in app.headers] == [b"host", b"transfer-encoding"]


@pytest.mark.parametrize(
    "said", [WHOLE, b"GARBAGE\r\n\r\n", b"GET / HTTP/1.1\r\nA\r\n\r\n", b"GET /%s HTTP/1.1\r\n\r\n" % (b"a" * HEAD)]
)
async def test_every_answer_says_that_its_type_is_its_type(said: bytes) -> None:
    async with serving(App(), QUICK) as connect:
        peer = await connect()
        await peer.say(said.replace(b"Host: a\r\n", b"Host: a\r\nConnection: close\r\n"))
        assert b"\r\nx-content-type-options: nosniff\r\n" in await peer.heard()
