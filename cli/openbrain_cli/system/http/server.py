"""HTTP servers that stop as we need it: cleanly, with exit code 0."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import uvicorn

from openbrain.settings.server import Server
from openbrain_cli.system.http.connections import Bounds, Connection, affordable

KEEP_ALIVE_S = 75
"""Seconds that an idle connection stays open: longer than clients (usually 5 s) and proxies (60 s) keep it, so that
    they close it. A request that crosses the server's close is lost, and a write can't be repeated blindly."""
LOOK_TICKS = 5
"""Number of uvicorn's ticks (0.1 s) between checks of the connections' progress."""
ALWAYS = [("X-Content-Type-Options", "nosniff")]
"""Headers of every response."""


def http_server(
    app: Any,
    *,
    hears_signals: bool,
    graceful_s: float = 10,
    trusted_proxies: Sequence[str] = (),
    within: Bounds | None = None,
    **options: Any,
) -> uvicorn.Server:
    """Make a server for `app`. With `hears_signals`, SIGTERM and SIGINT stop it; otherwise its caller does.
    `trusted_proxies`: addresses and networks whose `X-Forwarded-For` names the client. `within`: connection limits.

    `app.state.drain`, if set, is called when the server begins to stop: it ends responses that would never end.
    """

    drain = getattr(getattr(app, "state", None), "drain", lambda: None)

    allowed = within or Bounds()
    allowed = replace(allowed, connections=affordable(allowed.connections))

    class Bounded(Connection):
        bounds, waiting = allowed, {}

    class Bounding(uvicorn.Server):
        async def on_tick(self, counter: int) -> bool:
            if counter % LOOK_TICKS == 0:
                now = asyncio.get_running_loop().time()
                for connection in list(self.server_state.connections):
                    if isinstance(connection, Connection):
                        connection.look(now)
            return await super().on_tick(counter)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            drain()
            await super().shutdown(sockets)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            # uvicorn's version raises the signal again at the end, which would kill the process.
            loop = asyncio.get_running_loop()
            signals = (signal.SIGTERM, signal.SIGINT) if hears_signals else ()
            for number in signals:
                loop.add_signal_handler(number, self.handle_exit, number, None)
            try:
                yield
            finally:
                for number in signals:
                    loop.remove_signal_handler(number)

    return Bounding(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            http=Bounded,
            ws="none",
            headers=ALWAYS,
            timeout_graceful_shutdown=round(graceful_s),
            timeout_keep_alive=KEEP_ALIVE_S,
            # By default uvicorn trusts every client on this machine, and an environment variable.
            proxy_headers=bool(trusted_proxies),
            forwarded_allow_ips=list(trusted_proxies),
            **options,
        )
    )


def bounds(server: Server) -> Bounds:
    return Bounds(head_s=server.tuning.head_s, body_s=server.tuning.body_s, connections=server.connections)
