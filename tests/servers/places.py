"""Where the servers' files are, and where their programs are found."""

import atexit
import random
import shutil
import socket
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
ROOT = SOURCES.parent.parent
HOME = ROOT / ".servers"

# Debian keeps mariadbd where the PATH of an ordinary user doesn't look.
_SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec")
_CLAIMS: list[socket.socket] = []
"""UDP sockets on the same port numbers, as claims: nothing here uses UDP, and the system gives a port to one process
only, until that process ends."""


@atexit.register
def _release() -> None:
    for claim in _CLAIMS:
        claim.close()


def program(name: str) -> Path | None:
    """Find a program on the PATH or in the folders of the system's daemons."""
    found = shutil.which(name) or shutil.which(name, path=":".join(_SYSTEM_FOLDERS))
    return Path(found) if found else None


def free_port() -> int:
    """Pick a port below the range that outgoing connections use.

    Inside that range a client that keeps reconnecting to a killed server could be given the server's own port, connect
    to itself and so block the port for the restart. The port stays reserved for this process until it ends: otherwise
    another worker of the run could pick it while the server is not up yet, or is down for a moment.
    """
    for _ in range(200):
        port = random.randint(18_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        claim = socket.socket(type=socket.SOCK_DGRAM)
        try:
            claim.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _CLAIMS.append(claim)
        return port
    message = "no free port between 18000 and 30000 on 127.0.0.1"
    raise OSError(message)
