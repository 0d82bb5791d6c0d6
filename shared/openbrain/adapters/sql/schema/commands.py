"""Creates and checks the schema, for `openbrain db` and the start of `openbrain up`.

Plain functions that connect, do one thing and disconnect. They block, and use no event loop.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError

from openbrain.adapters.sql.engine.database import SQLITE
from openbrain.adapters.sql.engine.mariadb import database as mariadb
from openbrain.adapters.sql.engine.mariadb import errors as mariadb_errors
from openbrain.adapters.sql.engine.opening import parse
from openbrain.adapters.sql.engine.sqlite import database as sqlite
from openbrain.adapters.sql.engine.sqlite import errors as sqlite_errors
from openbrain.adapters.sql.schema.health import examine, lacks_columns
from openbrain.domain.errors import SetupError, TryLater

HEAD = "head"
_UPGRADE_S = 600.0
"""Seconds that an upgrade waits for another one."""
_TABLE_LOCK_S, _TABLE_PAUSE_S = 3, 10.0
"""Seconds that a migration waits for a table that a backup reads, and then lets those pass who wait behind it."""
_ANSWER_S = 10.0
_FOREIGN = "a table of another program has the name of one of ours: give OpenBrain a database of its own"
_POLL_S = 0.2
_SCHEMA_POLL_S = 1.0
"""Longer, because every replica of every service asks while one upgrades."""


def upgrade(url: str, revision: str = HEAD) -> None:
    """Upgrade the schema. Safe while other processes do the same: one works, the others wait.

    `TryLater` if the database can't be reached, `SetupError` if its schema is newer than this program.
    """
    deadline = time.monotonic() + _UPGRADE_S
    while True:
        try:
            return _migrate(url, command.upgrade, revision)
        except TryLater as error:
            if not mariadb_errors.locked(error.__cause__) or time.monotonic() > deadline:
                raise
        time.sleep(_TABLE_PAUSE_S)


def downgrade(url: str, revision: str) -> None:
    """Downgrade the schema to `revision` ('base' removes it). Data that the older schema can't hold is lost."""
    _migrate(url, command.downgrade, revision)


def _migrate(url: str, step: Callable[[Config, str], None], revision: str) -> None:
    with _connection(url, _UPGRADE_S) as connection, _alone(connection):
        if (standing := _revision(connection)) not in _known():
            raise SetupError(_newer(standing))
        if connection.dialect.name != SQLITE:
            connection.execute(text(f"SET SESSION lock_wait_timeout = {_TABLE_LOCK_S}"))
        step(_config(connection), revision)
        connection.commit()
        if revision == HEAD and lacks_columns(connection):
            raise SetupError(_FOREIGN)


def current(url: str) -> str | None:
    """Return the revision of the schema; None if there is none."""
    with _connection(url, _ANSWER_S) as connection:
        return _revision(connection)


def check(url: str) -> tuple[str, ...]:
    """Return the problems, each with a remedy. `TryLater` if the database can't be reached."""
    with _connection(url, _ANSWER_S) as connection:
        return checked(connection)[2]


def checked(connection: Connection) -> tuple[str, str, tuple[str, ...]]:
    """Return product, version and problems; if the schema is not the current one, only that problem."""
    product, version, problems = examine(connection)
    revision, known = _revision(connection), _known()
    if revision not in known:
        problems = (_newer(revision),)
    elif revision != known[0]:
        problems = (_older(revision),)
    return product, version, problems


def wait(url: str, seconds: float) -> str | None:
    """Return the revision of the schema as soon as the database answers; `TryLater` if it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return current(url)
        except TryLater:
            if time.monotonic() + _POLL_S > deadline:
                raise
        time.sleep(_POLL_S)


def wait_for_schema(url: str, seconds: float) -> tuple[str, ...]:
    """Return as soon as services of this version can run on the schema, else after `seconds`, with the reason.

    They can on a later schema: migrations only add. `TryLater` if the database can't be reached.
    """
    deadline = time.monotonic() + seconds
    while (revision := wait(url, deadline - time.monotonic())) in _known()[1:]:
        if time.monotonic() + _SCHEMA_POLL_S > deadline:
            return (_older(revision),)
        time.sleep(_SCHEMA_POLL_S)
    return ()


@contextmanager
def _connection(url: str, patience_s: float) -> Iterator[Connection]:
    address = parse(url)
    is_sqlite = address.get_backend_name() == SQLITE
    engine = sqlite.engine(address, patience_s, "BEGIN IMMEDIATE") if is_sqlite else _mariadb(address, patience_s)
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as error:
        known = sqlite_errors.translated(error) if is_sqlite else mariadb_errors.translated(error)
        if known is None:
            raise
        raise known from error
    finally:
        engine.dispose()


def _mariadb(address: URL, patience_s: float) -> Engine:
    # The blocking driver under aiomysql.
    return create_engine(
        address.set(drivername="mysql+pymysql"),
        poolclass=NullPool,
        hide_parameters=True,
        connect_args=mariadb.connect_arguments(patience_s),
    )


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Exclude other upgrades. SQLite's transaction excludes other writers; on MariaDB DDL ends a transaction, so use a
    named lock."""
    if connection.dialect.name == SQLITE:
        yield
        return
    # Locks belong to the server, not to a database, and their names have at most 64 characters.
    lock = "openbrain-" + hashlib.sha256(str(connection.engine.url.database).encode()).hexdigest()[:32]
    if connection.scalar(text("SELECT GET_LOCK(:lock, :seconds)"), {"lock": lock, "seconds": _UPGRADE_S}) != 1:
        raise TryLater("another process is still changing the schema: try again when it is done")
    try:
        yield
    finally:
        if not connection.invalidated:
            connection.execute(text("SELECT RELEASE_LOCK(:lock)"), {"lock": lock})


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@cache
def _known() -> list[str | None]:
    """Return every revision of this program, newest first, and None for an empty database."""
    return [*(revision.revision for revision in ScriptDirectory.from_config(_config()).walk_revisions()), None]


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _older(revision: str | None) -> str:
    return f"the schema is at revision {revision or 'none'}, not {_known()[0]}: run `openbrain db upgrade`"


def _newer(revision: str | None) -> str:
    return f"the schema is at revision {revision}, which this program does not know: install the newer OpenBrain"
