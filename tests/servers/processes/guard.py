"""Runs one server and ends it when the pipe on stdin closes: `guard.py FOLDER COMMAND...`.

The test process holds the other end of the pipe. However that process dies, kill -9 included, the system closes the
pipe, and the guard kills the server with all its children and removes FOLDER. Parent-death signals are not sufficient:
they fire when the *thread* that started the server ends.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading

_PR_SET_PDEATHSIG = 1


def _die_with_guard() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _kill_when_tests_are_gone(server: "subprocess.Popen[bytes]", gone: threading.Event) -> None:
    # Not sys.stdin: its lock, held by this thread, would make the interpreter abort when the server ends first.
    while os.read(0, 1):
        pass
    gone.set()
    _kill_group(server.pid)


def main() -> int:
    """Start the command, print its pid, and exit with its exit status."""
    folder, command = sys.argv[1], sys.argv[2:]
    # In a process group of its own: the server dies with its children, and Ctrl-C in the terminal doesn't reach it.
    server = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=2,
        stderr=2,
        start_new_session=True,
        preexec_fn=_die_with_guard,  # noqa: PLW1509 - this process has no other thread yet
    )
    os.write(1, b"%d\n" % server.pid)
    gone = threading.Event()
    threading.Thread(target=_kill_when_tests_are_gone, args=(server, gone), daemon=True).start()
    status = server.wait()
    _kill_group(server.pid)
    if gone.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
