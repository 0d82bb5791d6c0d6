"""How the HTTP server treats connections."""

from typing import Any

import httpx

from openbrain_cli.system.http.server import http_server

PROXIES_S = 60
"""How long proxies in front usually keep an idle connection."""


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Never called."""


def test_an_idle_connection_is_closed_by_the_client_and_not_under_its_next_request() -> None:
    kept = http_server(_app, hears_signals=False).config.timeout_keep_alive
    client_s = httpx.Limits().keepalive_expiry
    assert client_s is not None
    assert kept > max(client_s, PROXIES_S)
