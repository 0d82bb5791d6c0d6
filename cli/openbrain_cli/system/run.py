"""`openbrain run SERVICE`: runs one service as a process, as in production."""

from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer

from openbrain.domain.errors import SetupError
from openbrain.runtime.adapters import EMBEDDED
from openbrain.settings import load
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import Config
from openbrain_cli.profile import settings_in_use, use_settings_file

SERVICE_APPS = {
    "ingest": "openbrain_ingest.app:app",
    "embedder": "openbrain_embedder.app:app",
    "indexer-text": "openbrain_indexer.app:text",
    "indexer-vector": "openbrain_indexer.app:vector",
    "matcher": "openbrain_matcher.app:app",
    "amygdala": "openbrain_amygdala.app:app",
    "tick": "openbrain_tick.app:app",
    "housekeeper": "openbrain_housekeeper.app:app",
    "api": "openbrain_api.app:app",
}
ServiceArgument = Annotated[str, typer.Argument(metavar="SERVICE", help=f"One of: {', '.join(SERVICE_APPS)}.")]


@command("OPENBRAIN_STREAMS__URL=redis://redis:6379/0 OPENBRAIN_TRUTH__URL=mysql+aiomysql://… openbrain run ingest")
def run(
    service: ServiceArgument,
    config: Config = None,
    host: Annotated[str | None, typer.Option(help="Address for /live, /ready and /metrics (and the API).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535)] = None,
) -> None:
    """Start one service on the servers that the settings name. It stops cleanly on SIGTERM."""
    if service not in SERVICE_APPS:
        raise SetupError(f"there is no service {service}: choose one of {', '.join(SERVICE_APPS)}")
    use_settings_file(config)
    settings = settings_in_use()
    if settings.streams.url == EMBEDDED:
        raise SetupError(
            "a single service needs a stream server that others can reach: set OPENBRAIN_STREAMS__URL, "
            "or run everything with `openbrain up`"
        )
    from openbrain.observability.metrics import export_spans
    from openbrain.runtime.adapters import close_to_others
    from openbrain_cli.system import event_loop
    from openbrain_cli.system.http.server import bounds, http_server

    close_to_others(settings)
    export_spans(settings.otlp_endpoint, f"openbrain-{service}")
    server = http_server(
        _app(service),
        hears_signals=True,
        graceful_s=settings.streams.tuning.shutdown_s,
        trusted_proxies=settings.server.trusted_proxies,
        within=bounds(settings.server),
        host=host or settings.server.host,
        port=settings.server.port if port is None else port,
    )
    with suppress(SystemExit):  # uvicorn's, if the port is taken
        event_loop.run(server.serve())
    if not server.started:
        raise SetupError(f"the service {service} did not start: see the messages above")


def _app(service: str) -> Any:
    module, _, name = SERVICE_APPS[service].partition(":")
    app = getattr(import_module(module), name)
    if service != "api":
        return app
    from openbrain_mcp.app import with_mcp

    return with_mcp(app, load().server.origins)
