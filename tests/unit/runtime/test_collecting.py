"""Objects that a process keeps for ever are not scanned by every garbage collection."""

import gc
from collections.abc import Iterator

import pytest

from openbrain.observability.gc_tuning import long_running


class Node:
    """A reference cycle, which only the garbage collector can free."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def thawed() -> Iterator[None]:
    """Undo the freeze of the test run, to start like a new process."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("thawed")
def test_what_was_there_is_left_alone_and_what_comes_later_is_collected() -> None:
    before = gc.get_threshold()
    with long_running():
        assert gc.get_freeze_count() > 10_000
        assert len(gc.get_objects()) < 1_000
        Node()
        gc.collect()
        assert not any(isinstance(each, Node) for each in gc.get_objects())
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, before)


@pytest.mark.usefixtures("thawed")
def test_what_the_process_froze_itself_stays_frozen() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    with long_running():
        assert gc.get_freeze_count() == before
    assert gc.get_freeze_count() == before
