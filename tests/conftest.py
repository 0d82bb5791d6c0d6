"""The order in which files run when several workers share a run, and what each process does once."""

import gc
import os
import tempfile
from pathlib import Path, PurePath

import hypothesis
import pytest

from tests.support.forms import examples
from tests.support.runs import loaded_once
from tests.support.runs.workers import workers

# How long an example takes to run or to draw depends on the machine's load, not on the property under test.
hypothesis.settings.register_profile(
    "searching", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
# The same examples for the same tests, so that only the change under test affects the result; `--hypothesis-profile
# searching` draws others.
hypothesis.settings.register_profile(
    "patient", hypothesis.settings.get_profile("searching"), derandomize=True, max_examples=examples(100)
)
hypothesis.settings.load_profile("patient")

# Secret rules are compiled once per checkout, and not once per home folder.
os.environ.setdefault("KF_RULE_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "secret-rules"))

# Where tests/support/processes/made_once.py keeps files for all processes of this run.
_KEPT = tempfile.TemporaryDirectory(prefix="openbrain-kept-")
os.environ.setdefault("OPENBRAIN_TEST_KEPT", _KEPT.name)

# Collection makes millions of long-lived objects.
gc.disable()

_HEAVY = (
    "tests/e2e",
    "tests/flow",
    "tests/integration",
    "tests/faults/signals/test_short.py",
    "tests/faults/test_short.py",
    "tests/properties",
    "tests/mcp/test_connected_clients.py",
    "tests/mcp/test_inspector.py",
    "tests/mcp/test_start.py",
    "tests/mcp/test_surfaces.py",
    "tests/openclaw",
    "tests/contracts/test_damaged_indexes.py",
    "tests/contracts/text/test_elasticsearch_client_8.py",
    "tests/contracts/text/test_elasticsearch_text.py",
    "tests/contracts/text/test_index.py",
    "tests/api/access/test_privacy.py",
    "tests/architecture/test_house.py",
    "tests/cli/commands/test_completion.py",
    "tests/cli/vault/test_tick.py",
    "tests/deploy/test_image.py",
)
"""Tests that start processes, servers or a pipeline of their own, or take long for another reason."""
_BESIDE = 2
"""Number of other test files after each heavy one, so that not every worker starts servers at once."""


@hypothesis.settings(max_examples=1, database=None)
@hypothesis.given(hypothesis.strategies.none())
def _draw(_: None) -> None:
    """Draw a first example: before it Hypothesis collects garbage, here among few objects, in a worker among many."""


def _file(item: pytest.Item) -> str:
    return PurePath(item.path).relative_to(item.config.rootpath).as_posix()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put heavy files early, spread among others: workers take the files in this order.

    In a single process they stay last, so that errors in the fast tests are reported first.
    """
    if workers(config) < 2:
        return
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(_file(item), []).append(item)
    heavy = [name for name in files if name.startswith(_HEAVY)]
    light = [name for name in files if not name.startswith(_HEAVY)]
    order: list[str] = []
    for name in heavy:
        order += [name, *light[:_BESIDE]]
        del light[:_BESIDE]
    items[:] = [item for name in [*order, *light] for item in files[name]]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Load the model for all workers, and exclude the collected objects from garbage collection."""
    if workers(session.config) > 1 and not session.config.option.collectonly:
        loaded_once.load()
    # Tests and their modules stay until the end: a collection that scans them all is expensive and finds nothing.
    gc.freeze()
    if workers(session.config) > 1:
        _draw()
    gc.set_threshold(25_000, 50, 100)
    gc.enable()


def pytest_unconfigure() -> None:
    _KEPT.cleanup()
