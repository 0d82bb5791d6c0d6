"""The port `Prober`: it asks what an operator declared, and executes nothing."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from openbrain.adapters.network.probes import Probes, checked_address
from openbrain.domain.errors import SetupError
from tests.support.embedder.fake_chat import fake_chat, says


async def test_a_file_is_there_or_not(tmp_path: Path) -> None:
    flag = tmp_path / "a flag"

    assert not await Probes().check(flag.as_uri())
    flag.touch()
    assert await Probes().check(flag.as_uri())
    assert not await Probes().check(tmp_path.as_uri())


async def test_a_port_takes_connections_or_not() -> None:
    ended = asyncio.Event()

    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await closed(writer)
        ended.set()

    server = await asyncio.start_server(close, "127.0.0.1", 0)
    address = f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async with server:
        assert await Probes().check(address)
        await ended.wait()
    assert not await Probes().check(address)


async def test_a_page_answers_or_not() -> None:
    with fake_chat(lambda _: says("")) as chat:
        assert await Probes().check(f"{chat.url}/models")
    assert not await Probes().check(f"{chat.url}/models")


@pytest.mark.parametrize(
    "address", ["tcp://a..b:80", f"tcp://{'a' * 70}.org:80", "http://xn--/", "http://exa\u2028mple.org/"]
)
async def test_a_name_that_no_host_has_does_not_answer(address: str) -> None:
    assert not await Probes().check(address)


async def test_what_is_silent_does_not_hold() -> None:
    over, ended = asyncio.Event(), asyncio.Event()

    async def wait(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        await closed(writer)
        ended.set()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    async with server:
        assert not await Probes(timeout_s=0.1).check(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        over.set()
        await ended.wait()


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@pytest.mark.parametrize(
    "address",
    ["", "touch /tmp/x", "ssh://host", "tcp://host", "tcp://host:port", "file://host/etc", "http://", "file:x"],
)
def test_what_can_not_be_asked_is_told_at_start(address: str) -> None:
    with pytest.raises(SetupError, match="PROBES"):
        checked_address(address)
