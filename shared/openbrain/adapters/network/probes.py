"""Probes over http, tcp and for files. Addresses come from the settings; no command is ever run."""

import asyncio
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from openbrain.domain.errors import SetupError


def checked_address(address: str) -> str:
    """Return the address unchanged. Raise `SetupError` if no probe supports it."""
    try:
        parts = urlsplit(address)
        fits = {
            "http": bool(parts.hostname),
            "https": bool(parts.hostname),
            "tcp": bool(parts.hostname) and parts.port is not None,
            "file": not parts.netloc and parts.path.startswith("/"),
        }.get(parts.scheme, False)
    except ValueError:
        fits = False
    if not fits:
        raise SetupError("OPENBRAIN_VAULTS__PROBES takes http(s)://…, tcp://host:port and file:///path only")
    return address


class Probes:
    """Port `Prober`."""

    def __init__(self, timeout_s: float = 5) -> None:
        self._timeout_s = timeout_s

    async def check(self, address: str) -> bool:
        parts = urlsplit(checked_address(address))
        with suppress(OSError, UnicodeError, TimeoutError):  # UnicodeError: not a possible host name
            async with asyncio.timeout(self._timeout_s):
                if parts.scheme == "file":
                    return await asyncio.to_thread(Path(unquote(parts.path)).is_file)
                if parts.scheme == "tcp":
                    return await _connects(parts.hostname or "", parts.port or 0)
                return await self._answers(address)
        return False

    async def close(self) -> None:
        """Do nothing: each probe uses its own client."""

    async def _answers(self, address: str) -> bool:
        import httpx

        with suppress(httpx.HTTPError, httpx.InvalidURL):
            async with httpx.AsyncClient(timeout=self._timeout_s) as client, client.stream("GET", address) as response:
                return response.is_success
        return False


async def _connects(host: str, port: int) -> bool:
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True
