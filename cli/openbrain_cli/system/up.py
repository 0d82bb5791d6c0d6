"""`openbrain up`: every service and the API in one process, on one port."""

import asyncio
import contextlib
import os
import shlex
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import typer
from starlette.applications import Starlette

from openbrain.domain.errors import SetupError
from openbrain.settings import Settings, load
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import Config, folder
from openbrain_cli.profile import settings_in_use, settings_loaded, use_settings_file
from openbrain_cli.system.shell.program import own_program

DataOption = Annotated[
    Path | None, typer.Option("--data", parser=folder, metavar="<path>", help="Folder for all embedded data.")
]
PortOption = Annotated[int | None, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")]


NewOption = Annotated[
    bool, typer.Option("--new", help="Start an empty brain if the database is missing although its indexes exist.")
]


@command("openbrain up", "openbrain up --data ./brain --port 9000")
def up(config: Config = None, data: DataOption = None, port: PortOption = None, new: NewOption = False) -> None:
    """Start the entire pipeline on this machine and print what to type next. Ctrl-C stops it; nothing is lost."""
    use_settings_file(config)
    settings = settings_in_use()
    if data is not None:
        settings = settings.model_copy(update={"data_dir": data.expanduser().resolve()})
    if port is not None:
        settings = settings.model_copy(update={"server": settings.server.model_copy(update={"port": port})})
    from openbrain_cli.system import event_loop

    event_loop.run(serve(settings, new=new))


async def serve(settings: Settings, *, new: bool = False) -> None:
    """Run until SIGINT or SIGTERM."""
    async with started(settings, new=new) as (url, key_file):
        _welcome(url, key_file)
        await _stopped()
        typer.echo("stopping: work in progress is finished first ...")


@contextlib.asynccontextmanager
async def started(settings: Settings, *, new: bool = False) -> AsyncIterator[tuple[str, Path]]:
    """Run the entire pipeline while the block runs. Yield its address and the file of its key."""
    from openbrain_cli.system.embedded.instance import refuse_second

    # Before the services are imported, which takes seconds.
    refuse_second(settings.data_dir)
    from openbrain.observability import logs
    from openbrain.observability.metrics import export_spans
    from openbrain.runtime.adapters import disk_space
    from openbrain_cli.system.embedded.disk_space import until_room
    from openbrain_cli.system.embedded.pipeline import running
    from openbrain_cli.vault.new_vault import make_vault, with_vault

    export_spans(settings.otlp_endpoint, "openbrain")
    settings = with_vault(settings)
    logs.configure(settings.logs.model_copy(update={"level": max_level(settings.logs.level)}))
    listener = _listen(settings.server.host, settings.server.port)
    url = _address(settings.server.host, listener.getsockname()[1])
    shortage = disk_space(settings).to_start
    if why := shortage():
        typer.echo(f"OpenBrain waits for disk space, then continues by itself (Ctrl-C ends it): {why}", err=True)
    await until_room(shortage, lambda app: _http(app, listener.dup(), settings))
    async with contextlib.AsyncExitStack() as stack:
        system = await stack.enter_async_context(running(settings, new=new))
        for vault in settings.vaults.folders.values():
            if vault.is_relative_to(settings.data_dir):
                make_vault(vault)
        await stack.enter_async_context(_http(system.api(), listener, settings))
        await stack.enter_async_context(_noted(settings.data_dir / "url", url))
        yield url, system.key_file


def max_level(level: str) -> str:
    """The log level in a user's terminal: only warnings, unless another level than the default is set."""
    return "WARNING" if level == "INFO" else level


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SetupError(
            f"port {port} of {host} is not available ({error.strerror}): choose another with --port"
        ) from None
    return listener


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextlib.asynccontextmanager
async def _http(app: Starlette, listener: socket.socket, settings: Settings) -> AsyncIterator[None]:
    """Serve requests while the block runs; running requests are finished first."""
    from openbrain_cli.system.http.server import bounds, http_server

    server = http_server(
        app,
        hears_signals=False,
        trusted_proxies=settings.server.trusted_proxies,
        within=bounds(settings.server),
    )
    listener.listen()  # clients that connect before the server has started wait a moment
    task = asyncio.create_task(server.serve(sockets=[listener]), name="http")
    try:
        yield
    finally:
        server.should_exit = True
        await task
        listener.close()


@contextlib.asynccontextmanager
async def _noted(file: Path, text: str) -> AsyncIterator[None]:
    """Write the running system's address to a file, for the commands that look for it."""
    # Atomic: commands may read it at any time.
    unfinished = file.with_name(f".{file.name}")
    unfinished.write_text(text + "\n", encoding="utf-8")
    unfinished.replace(file)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


async def _stopped() -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()


def _welcome(url: str, key_file: Path) -> None:
    program = shlex.quote(str(own_program()))
    typed = "openbrain" if _on_path() else program
    option = _data_option(key_file, load().data_dir / key_file.name)
    typer.echo(f"OpenBrain answers on {url}")
    typer.echo(f"The key is in     {key_file}")
    if (file := settings_loaded().file) is not None:
        typer.echo(f"The settings are   {file}")
    typer.echo("Type next, in a second terminal:")
    typer.echo(f'  {typed} remember "The cache key must hold the tenant." --type bug{option}')
    typer.echo(f'  {typed} recall "what must a cache key hold?"{option}')
    typer.echo(f"  {typed} import --dry-run{option}")
    typer.echo("For agents, from any folder:")
    # A client starts it without this shell's PATH and settings.
    everywhere = _data_option(
        key_file, Settings.model_fields["data_dir"].get_default(call_default_factory=True) / "key"
    )
    typer.echo(f"  {program} connect claude-code{everywhere}   (or codex, cursor, gemini, openclaw)")


def _data_option(key_file: Path, default: Path) -> str:
    return "" if key_file == default else f" --data {shlex.quote(str(key_file.parent))}"


def _on_path() -> bool:
    import shutil

    program = shutil.which("openbrain")
    return program is not None and os.access(program, os.X_OK)
