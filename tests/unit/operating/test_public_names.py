"""The public names of the package: each exists, and none imports a driver before it is used."""

import subprocess
import sys

import openbrain


def test_every_public_name_can_be_imported() -> None:
    for name in set(openbrain.__all__) - {"__version__"}:
        assert getattr(openbrain, name).__name__ == name
        assert name in dir(openbrain)


def test_the_package_alone_loads_no_driver() -> None:
    code = "import sys, openbrain; print(sorted({'httpx', 'redis', 'pydantic', 'sqlalchemy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
