"""Objects that a process keeps for ever are not scanned by every garbage collection."""

import subprocess
import sys

NEW = """
import gc
import openbrain.observability.metrics
from openbrain.observability.gc_tuning import long_running

class Node:
    \"""A reference cycle, which only the garbage collector can free.\"""

    def __init__(self) -> None:
        self.me = self

"""
"""The beginning of a new process: this one's objects are frozen, and a million."""


def run(program: str) -> None:
    subprocess.run([sys.executable, "-c", NEW + program], check=True)


def test_what_was_there_is_left_alone_and_what_comes_later_is_collected() -> None:
    run("""
before = gc.get_threshold()
with long_running():
    assert gc.get_freeze_count() > 10_000
    assert len(gc.get_objects()) < 1_000
    Node()
    gc.collect()
    assert not any(isinstance(each, Node) for each in gc.get_objects())
assert (gc.get_freeze_count(), gc.get_threshold()) == (0, before)
""")


def test_a_command_collects_rarely() -> None:
    run("""
import contextlib, sys
from openbrain_cli import start
sys.argv = ["openbrain", "version"]
with contextlib.suppress(SystemExit):
    start()
assert gc.get_threshold()[0] == 20_000
""")


def test_what_the_process_froze_itself_stays_frozen() -> None:
    run("""
gc.freeze()
before = gc.get_freeze_count()
with long_running():
    assert gc.get_freeze_count() == before
assert gc.get_freeze_count() == before
""")
