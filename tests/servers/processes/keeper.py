"""Keeps one shared server of each kind for a whole test run, also if several workers share it.

The process that collected the tests owns the servers, because workers, which are its forks, start and end during a run.
A worker asks it over a local socket; the first request for a kind starts the server.
"""

import os
import secrets
import threading
from collections import defaultdict
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection, Listener

from tests.servers.catalogue import server
from tests.servers.processes.process import Server, ServerError, ServerProcess

OUTER = "OPENBRAIN_TEST_KEEPER"


@dataclass(frozen=True)
class Address:
    """Where a worker reaches the keeper."""

    path: str
    key: str

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment for a nested test run, which then uses the same servers."""
        return {OUTER: f"{self.key}:{self.path}"}


def outer() -> Address | None:
    """Return the keeper of the enclosing run, if this run is nested in one."""
    key, _, path = os.environ.get(OUTER, "").partition(":")
    return Address(path, key) if path else None


class Keeper:
    """Starts a server at the first request and returns the same one for every later request."""

    def __init__(self) -> None:
        self._kept: dict[str, ServerProcess] = {}
        self._failed: dict[str, str] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._listener: Listener | None = None
        self._key = secrets.token_bytes(16)
        self._owner = os.getpid()

    @property
    def used(self) -> list[str]:
        return sorted(self._kept)

    def get(self, name: str) -> Server:
        if os.getpid() != self._owner:
            return ask(self.listen(), name)
        # A lock per kind: starting Elasticsearch takes seconds, and Redis must not wait for it.
        with self._locks[name]:
            if name in self._failed:
                raise ServerError(self._failed[name])
            if name not in self._kept:
                self._start(name)
            return self._kept[name].server

    def listen(self) -> Address:
        """Open the socket for workers, once."""
        if self._listener is None:
            self._listener = Listener(family="AF_UNIX", authkey=self._key)
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        return Address(str(self._listener.address), self._key.hex())

    def close(self) -> None:
        """Kill all servers and remove their data."""
        if self._listener is not None:
            self._listener.close()
        for process in self._kept.values():
            process.close()
        self._kept.clear()

    def _start(self, name: str) -> None:
        try:
            self._kept[name] = server(name).__enter__()
        except ServerError as error:
            # Remembered, so that a thousand tests do not each wait for a server that doesn't start.
            self._failed[name] = str(error)
            raise

    def _accept(self, listener: Listener) -> None:
        while True:
            try:
                link = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(link,), daemon=True).start()

    def _answer(self, link: Connection) -> None:
        with link:
            name = link.recv()
            try:
                link.send(self.get(name))
            except (ServerError, OSError) as error:
                link.send(str(error))


def ask(address: Address, name: str) -> Server:
    """Ask the keeper of the run for a server, from a worker."""
    with Client(address.path, family="AF_UNIX", authkey=bytes.fromhex(address.key)) as link:
        link.send(name)
        answer = link.recv()
    if not isinstance(answer, Server):
        raise ServerError(str(answer))
    return answer
