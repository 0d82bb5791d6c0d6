"""Where the servers live, and where their programs are found."""

import random
import shutil
import socket
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
ROOT = SOURCES.parent.parent
HOME = ROOT / ".servers"

# Debian keeps mariadbd where the PATH of an ordinary user doesn't look.
_SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec")


def program(name: str) -> Path | None:
    """Find a program on the PATH or in the folders of the system's daemons."""
    found = shutil.which(name) or shutil.which(name, path=":".join(_SYSTEM_FOLDERS))
    return Path(found) if found else None


def free_port() -> int:
    """Pick a port below the range that outgoing connections use.

    Inside that range a client that keeps dialling a killed server could be given the server's own port,
    connect to itself and so hold the port against the restart.
    """
    for _ in range(200):
        port = random.randint(18_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    message = "no free port between 18000 and 30000 on 127.0.0.1"
    raise OSError(message)
