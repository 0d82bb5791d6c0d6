"""Servers for a block of code: `with running("redis", "mariadb") as servers: servers["redis"].url`."""

import contextlib
from collections.abc import Iterator

from tests.servers.catalogue import server
from tests.servers.processes.process import ServerProcess


@contextlib.contextmanager
def running(*names: str) -> Iterator[dict[str, ServerProcess]]:
    """Start these servers; kill them and remove their data at the end."""
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(server(name)) for name in names}
