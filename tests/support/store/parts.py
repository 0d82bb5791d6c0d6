"""A store with some of its parts replaced, and a database that repeats its transactions."""

from collections.abc import Callable
from copy import copy
from typing import Any, TypeVar

from sqlalchemy import Connection

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore

T = TypeVar("T")


def with_parts(store: SqlStore, **parts: Any) -> SqlStore:
    """Return a copy of the store with these attributes replaced."""
    made = copy(store)
    vars(made).update(parts)
    return made


class LostResponses:
    """A database whose responses to commits are lost: each transaction is committed, and then run again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def write(self, fn: Callable[[Connection], T]) -> T:
        await self._database.write(fn)
        return await self._database.write(fn)
