"""Selects the tests of a run by ring and by form.

A test belongs to the ring of the servers that it needs. A case that is parametrized by stream server runs on one of
them, alternating from case to case, unless the run is long or the case is marked `each_server`.
"""

import random
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pytest

from tests.servers.availability import NAMES


@dataclass(frozen=True, slots=True)
class Ring:
    """A group of tests, and the command that runs them."""

    name: str
    command: str
    needs: str


RINGS = (
    Ring("embedded", "make test", "embedded parts alone"),
    Ring("servers", "make test-servers", "real servers"),
    Ring("faults", "make test-faults", "faults, kills or long work"),
    Ring("cluster", "make test-k8s", "a Kubernetes control plane"),
)
SECOND, LONG = "second", "long"
EMBEDDED = frozenset({"valkey"})
"""A server that comes in a wheel: it needs no installation and starts quickly."""
STREAM_SERVERS = frozenset({"redis", "valkey"})
_FAULTS = (
    *("tests/faults/", "tests/properties/"),
    # Pipelines with lost or rebuilt indexes, random stream entries, full disks and backlogs.
    *("tests/flow/indexes/", "tests/flow/test_back_pressure.py", "tests/flow/test_stream_fuzz.py"),
    *("tests/e2e/operating/test_full_disk.py", "tests/contracts/test_damaged_indexes.py"),
    # A system destroyed and restored, complete erasing and cleaning, random values and fields for all routes.
    *("tests/e2e/operating/test_backup_page.py", "tests/flow/privacy/"),
    *("tests/api/requests/test_any_value.py", "tests/api/access/test_privacy.py"),
    # What a caller learns of hidden memories from answers, ids and totals; jobs that change, end and undo many
    # memories.
    *("tests/api/access/leaks/", "tests/api/operating/lifecycle/"),
    # The same from an operator's command line: ending, rebuilding, stopping, replaying, inspecting and tracing.
    *("tests/e2e/cli/test_ending.py", "tests/e2e/operating/test_reindexing.py", "tests/flow/test_lifecycle.py"),
    *("tests/e2e/cli/test_streams.py", "tests/e2e/operating/test_traces.py", "tests/e2e/operating/test_running.py"),
    # A full disk; servers, imports and writers that are killed, stopped or run all at once.
    *("tests/contracts/vectors/qdrant/test_edge_full_disk.py", "tests/e2e/operating/test_redis_pauses.py"),
    *(
        "tests/contracts/streams/servers/test_embedded_valkey_failing.py",
        "tests/contracts/streams/reading/test_faults.py",
    ),
    *("tests/contracts/embedder/test_faults.py", "tests/contracts/store/laws/test_concurrency.py"),
    *("tests/cli/imports/test_import_killed.py", "tests/e2e/cli/test_import_stopped.py"),
)
_CLUSTER = "tests/cluster/"
_FIXTURES = {f"{name}_server": name for name in NAMES} | {
    "mariadb_url": "mariadb",
    "bge_weights": "bge",
}
_WORDS = {name: name for name in NAMES} | {"elasticsearch-knn": "elasticsearch"} | _FIXTURES
_NAMED_DIRECTLY = frozenset({"server", "name"})
"""Parameters of tests, not of fixtures, that name a server."""


def servers_of(item: pytest.Item) -> frozenset[str]:
    """Return the servers and tools that a test needs: by fixture, by parameter, or by its mark `servers`."""
    marked = {str(name) for mark in item.iter_markers("servers") for name in mark.args}
    fixtures = {_FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in _FIXTURES}
    return frozenset(marked | fixtures | set(_parameters(item).values()))


def ring_of(item: pytest.Item) -> str:
    if item.nodeid.startswith(_CLUSTER):
        return "cluster"
    if item.nodeid.startswith(_FAULTS):
        return "faults"
    return "servers" if servers_of(item) - EMBEDDED else "embedded"


def _parameters(item: pytest.Item) -> dict[str, str]:
    """Return parameter -> the server that it names."""
    call = getattr(item, "callspec", None)
    if call is None:
        return {}
    made = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
    return {
        name: _WORDS[value]
        for name, value in call.params.items()
        if isinstance(value, str) and value in _WORDS and (name in _NAMED_DIRECTLY or made[name][-1].params is not None)
    }


def chosen(
    items: Sequence[pytest.Item], rings: Collection[str], *, long: bool
) -> tuple[list[pytest.Item], Counter[str]]:
    """Return the tests to run (of all rings if none is named), and how many were left out for each reason."""
    taken, left_out = [], Counter[str]()
    for item in items:
        own = ring_of(item)
        if not long and item.get_closest_marker("long") is not None:
            left_out[LONG] += 1
        elif not long and _is_second_form(item):
            left_out[SECOND] += 1
        elif rings and own not in rings:
            left_out[own] += 1
        else:
            taken.append(item)
    return taken, left_out


def shuffled(items: Iterable[pytest.Item], seed: str) -> list[pytest.Item]:
    """Shuffle the files, and the tests of each, to expose tests that depend on earlier ones."""
    chance = random.Random(seed)
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    order = list(files)
    chance.shuffle(order)
    return [item for name in order for item in chance.sample(files[name], len(files[name]))]


def _is_second_form(item: pytest.Item) -> bool:
    """Whether this case is left out because it runs on the other stream server."""
    named = [(name, value) for name, value in _parameters(item).items() if value in STREAM_SERVERS]
    if len(named) != 1 or item.get_closest_marker("each_server"):
        return False
    ((_, server),) = named
    case = item.nodeid.replace(server, "SERVER")
    return server != ("redis", "valkey")[zlib.crc32(case.encode()) % 2]


def told(left_out: Mapping[str, int]) -> Iterable[str]:
    """Yield a line for each reason why tests were left out, with the command that runs them."""
    for ring in RINGS:
        if count := left_out.get(ring.name):
            yield f"left out: {count} tests that need {ring.needs}: {ring.command}"
    if count := left_out.get(SECOND):
        yield f"left out: {count} cases that run on the other of Redis and Valkey: make test-long"
    if count := left_out.get(LONG):
        yield f"left out: {count} tests of the long form, whose proof is shorter elsewhere: make test-long"
