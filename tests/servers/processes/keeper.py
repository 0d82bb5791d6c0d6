"""Keeps one shared server of each kind for a whole test run, also when several workers share it.

The process that collected the tests owns the servers: workers, which are forks of it, come and go.
A worker asks it over a local socket; the first one to ask for a kind has it started.
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
        """For a run within the run, which then takes the same servers."""
        return {OUTER: f"{self.key}:{self.path}"}


def outer() -> Address | None:
    """The keeper of the run that this run is a part of."""
    key, _, path = os.environ.get(OUTER, "").partition(":")
    return Address(path, key) if path else None


class Keeper:
    """Starts a server upon the first demand and gives the same one to all who ask."""

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
        # A lock per kind: Elasticsearch takes seconds, and Redis must not wait for it.
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
        """End all servers; their data goes too, so they are simply killed."""
        if self._listener is not None:
            self._listener.close()
        for process in self._kept.values():
            process.close()
        self._kept.clear()

    def _start(self, name: str) -> None:
        try:
            self._kept[name] = server(name).__enter__()
        except ServerError as error:
            # Remembered: a thousand tests must not each wait for a server that doesn't come up.
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
