"""HTTP servers that end as we want: cleanly, with exit code 0."""

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
"""Lifetime of an idle connection: longer than clients (5 s is usual) and proxies (60 s) do, so that it is they who
close it. A request that meets a server's close is lost, and one that writes can't be sent again blindly."""
LOOK_TICKS = 5
"""Of uvicorn's tenths of a second, between looks at what connections wait for."""
ALWAYS = [("X-Content-Type-Options", "nosniff")]
"""Headers of every answer."""


def http_server(
    app: Any,
    *,
    hears_signals: bool,
    graceful_s: float = 10,
    trusted_proxies: Sequence[str] = (),
    within: Bounds | None = None,
    **options: Any,
) -> uvicorn.Server:
    """A server for `app`. `hears_signals`: SIGTERM and SIGINT end it; otherwise whoever runs it does.
    `trusted_proxies`: whose `X-Forwarded-For` says who asks (addresses and networks). `within`: of connections.

    What `app.state.drain` is, if anything, is called when it begins to end: it ends answers that would go on for ever.
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
            # uvicorn's own form raises the signal again when all is done, and the process would end by it.
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
            # uvicorn's own default believes whoever connects from this machine, and a variable of the environment.
            proxy_headers=bool(trusted_proxies),
            forwarded_allow_ips=list(trusted_proxies),
            **options,
        )
    )


def bounds(server: Server) -> Bounds:
    return Bounds(head_s=server.tuning.head_s, body_s=server.tuning.body_s, connections=server.connections)
