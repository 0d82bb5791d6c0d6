"""version."""

import platform

import openbrain
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson
from openbrain_cli.output import as_json


@command("openbrain version", "openbrain version --json")
def version(json: AsJson = False) -> None:
    """Print the version."""
    if json:
        as_json({"openbrain": openbrain.__version__, "python": platform.python_version()})
    else:
        print(f"openbrain {openbrain.__version__}")
