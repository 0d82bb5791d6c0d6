"""An executable for shells that does what the installed `openbrain` does, in a fork (see `forked`): a tenth of the CPU
time of a start."""

import os
import pickle
import socket
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.processes.forked import Forked

_ASKED_MAX = 2**20
_CLIENT = f"""#!{sys.executable} -IS
import os, pickle, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect("\\0%s")
    asked = pickle.dumps((sys.argv[1:], dict(os.environ), os.getcwd()))
    server.sendall(len(asked).to_bytes(4, "big"))
    socket.send_fds(server, [b"f"], [0, 1, 2])
    server.sendall(asked)
    sys.exit(int(server.recv(8)))
"""


@contextmanager
def shell_program(path: Path) -> Iterator[None]:
    """Make `path` the executable while the block runs."""
    name = f"openbrain-{uuid.uuid4().hex}"
    path.write_text(_CLIENT % name)
    path.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        threading.Thread(target=_serve, args=(listener,), daemon=True).start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            path.unlink()


def _serve(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_answer, args=(client,), daemon=True).start()


def _answer(client: socket.socket) -> None:
    with client:
        size = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big")
        assert size < _ASKED_MAX
        _, files, _, _ = socket.recv_fds(client, 1, 3)
        try:
            words, env, folder = pickle.loads(client.recv(size, socket.MSG_WAITALL))
            stdin, out, err = files
            begun = Forked(words, env=env, cwd=Path(folder), stdin=stdin, out=out, err=err)
        finally:
            for each in files:
                os.close(each)
        status = begun.wait()
        client.sendall(str(status if status >= 0 else 128 - status).encode())
