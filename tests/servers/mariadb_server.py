"""MariaDB: the database of a fleet. Each start copies a prepared data folder, which takes a second."""

import getpass
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.servers.availability import Available, Missing, State
from tests.servers.places import HOME, program
from tests.servers.processes.probes import mariadb_greeting
from tests.servers.processes.process import Recipe, Server, ServerError

TEMPLATE = HOME / "mariadb" / "template"
STAMP = HOME / "mariadb" / "stamp"
USER = PASSWORD = DATABASE = "openbrain"

# A small log keeps copies of the template small.
ENGINE = ("--innodb-log-file-size=32M",)


def state() -> State:
    """Debian's mariadb-server, and the template made from it."""
    binary = program("mariadbd")
    if binary is None or program("mariadb") is None:
        return Missing("no mariadbd on this machine: run `make servers` as root, or install MariaDB 10.11 or later")
    if not STAMP.exists() or STAMP.read_text() != stamp():
        return Missing("its prepared data folder isn't there yet: run `make servers`")
    return Available(version())


def stamp() -> str:
    """Return what the template depends on."""
    return f"{version()} {getpass.getuser()} 1"


@cache
def version() -> str:
    text = subprocess.run([daemon(), "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Ver (\d[\d.]*)", text)
    return found.group(1) if found else "0"


def daemon() -> str:
    return str(program("mariadbd"))


def recipe() -> Recipe:
    def command(port: int, data: Path) -> list[str]:
        return [
            *(daemon(), "--no-defaults", f"--user={getpass.getuser()}", f"--datadir={data}"),
            *(f"--socket={data}/mariadb.sock", f"--pid-file={data}/mariadb.pid"),
            # Not the common one: a server that starts removes the temporary tables of all others from it.
            f"--tmpdir={data}",
            *("--bind-address=127.0.0.1", f"--port={port}", "--skip-name-resolve", "--max-connections=300"),
            *("--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci"),
            *("--innodb-buffer-pool-size=128M", *ENGINE),
            # A killed server still finds every commit in the page cache; only a power loss would need the sync.
            "--innodb-flush-log-at-trx-commit=2",
        ]

    return Recipe(
        name="mariadb",
        url=f"mysql+aiomysql://{USER}:{PASSWORD}@127.0.0.1:{{port}}/{DATABASE}",
        command=command,
        answers=mariadb_greeting,
        prepare=_copy_template,
    )


def _copy_template(data: Path) -> None:
    shutil.copytree(TEMPLATE, data, dirs_exist_ok=True)


def create_database(server: Server, name: str) -> str:
    """Create an empty database (its name must begin with `openbrain`) and return its URL."""
    _sql(server, f"CREATE DATABASE `{_checked(name)}`")
    return f"{server.url.rpartition('/')[0]}/{name}"


def drop_database(server: Server, name: str) -> None:
    _sql(server, f"DROP DATABASE IF EXISTS `{_checked(name)}`")


def _checked(name: str) -> str:
    if not re.fullmatch(rf"{DATABASE}\w*", name):
        raise ValueError(f"a test database's name begins with {DATABASE} and has letters, digits and _ only: {name}")
    return name


def _sql(server: Server, statement: str) -> None:
    done = subprocess.run(
        [
            *(str(program("mariadb")), "--no-defaults", "--protocol=tcp", f"--host={server.host}"),
            *(f"--port={server.port}", f"--user={USER}", f"--password={PASSWORD}", "--execute", statement),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ServerError(f"mariadb refused {statement}: {done.stderr.strip()}")
