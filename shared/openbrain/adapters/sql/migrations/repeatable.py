"""Migrations that can be repeated on MariaDB: it commits each statement by itself, so that a killed migration leaves a
part of its changes, and the next upgrade begins with the same one again."""

import re
from typing import Any

_FORMS = (
    (re.compile(r"CREATE TABLE "), "CREATE TABLE IF NOT EXISTS "),
    (re.compile(r"CREATE (UNIQUE )?INDEX "), r"CREATE \1INDEX IF NOT EXISTS "),
    (re.compile(r"ALTER TABLE (\S+) ADD COLUMN "), r"ALTER TABLE \1 ADD COLUMN IF NOT EXISTS "),
    (re.compile(r"ALTER TABLE (\S+) DROP COLUMN "), r"ALTER TABLE \1 DROP COLUMN IF EXISTS "),
    (re.compile(r"DROP (TABLE|INDEX) "), r"DROP \1 IF EXISTS "),
)


def repeatable(
    _connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _executemany: bool
) -> tuple[str, Any]:
    """Return the statement in the form that changes nothing if its change is there already: a listener of SQLAlchemy's
    `before_cursor_execute`."""
    for pattern, form in _FORMS:
        if match := pattern.match(statement.lstrip()):
            return match.expand(form) + statement.lstrip()[match.end() :], parameters
    return statement, parameters
