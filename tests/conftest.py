"""Which tests begin first when several workers share a run."""

from pathlib import PurePath

import pytest

_HEAVY = {"tests/e2e": "commands", "tests/integration": "processes", "tests/deploy/test_image.py": "processes"}
"""What starts processes and servers of its own, by the group that runs it: one at a time in each."""


def _group(item: pytest.Item) -> str:
    path = PurePath(item.path).relative_to(item.config.rootpath).as_posix()
    return next((group for start, group in _HEAVY.items() if path.startswith(start)), "")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marked while it is collected: xdist reads the marks before any hook on the whole list."""
    group = _group(item)
    if group and item.get_closest_marker("xdist_group") is None:  # xdist would join both names to a third
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The heavy ones first, in two groups: of `--dist loadgroup`'s workers two are busy with them, the others go on.

    Where everything runs in one process they stay last, so that what is wrong with a rule is told before.
    """
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not _group(item))
