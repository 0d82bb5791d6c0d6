"""The path of this command, for programs that start it again."""

import sys
from pathlib import Path


def own_program() -> Path:
    """The absolute path of the running `openbrain`."""
    called = Path(sys.argv[0])
    program = called if called.name == "openbrain" and called.is_file() else Path(sys.executable).with_name("openbrain")
    return program.absolute()
