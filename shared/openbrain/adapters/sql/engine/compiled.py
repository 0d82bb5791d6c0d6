"""Compiled statements, shared by all engines of a process.

SQLAlchemy compiles a statement for each engine. A database has several, which differ in their transactions alone.
"""

from typing import Any, Final

from sqlalchemy.sql.compiler import Compiled
from sqlalchemy.util import LRUCache

_KEPT = 1000
"""More statements than a process has."""


class CompiledStatements:
    """The value of SQLAlchemy's option `compiled_cache`. Its keys begin with the engine's dialect: of that count only
    its class and the server's version, by which the text of a statement may differ."""

    def __init__(self) -> None:
        self._kept: LRUCache[tuple[Any, ...], Compiled] = LRUCache(_KEPT)

    def get(self, key: tuple[Any, ...]) -> Compiled | None:
        return self._kept.get(_shared(key))

    def __setitem__(self, key: tuple[Any, ...], compiled: Compiled) -> None:
        self._kept[_shared(key)] = compiled


def _shared(key: tuple[Any, ...]) -> tuple[Any, ...]:
    dialect, *statement = key
    return (type(dialect), dialect.server_version_info, *statement)


OPTIONS: Final = {"compiled_cache": CompiledStatements()}
"""Execution options of every engine."""
