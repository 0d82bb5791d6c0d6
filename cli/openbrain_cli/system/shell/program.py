"""This command itself, for whoever is to start it again."""

import sys
from pathlib import Path


def own_program() -> Path:
    """The whole path of `openbrain`, as it runs now."""
    called = Path(sys.argv[0])
    program = called if called.name == "openbrain" and called.is_file() else Path(sys.executable).with_name("openbrain")
    return program.absolute()
