"""A store with some of its parts replaced."""

from copy import copy
from typing import Any

from openbrain.adapters.sql.store import SqlStore


def with_parts(store: SqlStore, **parts: Any) -> SqlStore:
    """Return a copy of the store with these attributes replaced."""
    made = copy(store)
    vars(made).update(parts)
    return made
