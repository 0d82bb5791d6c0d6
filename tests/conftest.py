"""Which tests begin first when several workers share a run."""

from pathlib import PurePath

import pytest

_HEAVY = {"tests/e2e": "commands", "tests/integration": "processes", "tests/deploy/test_image.py": "processes"}
"""What starts processes and servers of its own, by the group that runs it: one at a time in each."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The heavy ones first, in two groups: of `--dist loadgroup`'s workers two are busy with them, the others go on.

    Where everything runs in one process they stay last, so that what is wrong with a rule is told before.
    """
    heavy: list[pytest.Item] = []
    for item in items:
        path = PurePath(item.path).relative_to(config.rootpath).as_posix()
        for start, group in _HEAVY.items():
            if path.startswith(start):
                if item.get_closest_marker("xdist_group") is None:  # xdist would join both names to a third
                    item.add_marker(pytest.mark.xdist_group(group))
                heavy.append(item)
    if hasattr(config, "workerinput"):
        known = set(map(id, heavy))
        items[:] = [*heavy, *(item for item in items if id(item) not in known)]
