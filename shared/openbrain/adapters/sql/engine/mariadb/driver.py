"""The driver's connection, on an event loop that refuses to write to a connection that was reset.

uvloop raises `RuntimeError` for such a write. The driver passes it on, and the pool does not take it for a lost
connection: it would return the same one to callers until its age ends it.
"""

from typing import Any

import aiomysql
from pymysql.constants import CR
from pymysql.err import OperationalError


class ResetAware(aiomysql.Connection):  # type: ignore[misc] # without types
    """A connection that reports a refused write as lost."""

    def _write_bytes(self, data: bytes) -> None:
        try:
            super()._write_bytes(data)
        except RuntimeError as error:
            self.close()
            raise OperationalError(CR.CR_SERVER_LOST, "Lost connection to MySQL server during query") from error

    async def ensure_closed(self) -> None:
        """Close it, without the quit command if that can't be sent."""
        try:
            await super().ensure_closed()
        except RuntimeError:
            self.close()


async def connect(*args: Any, **named: Any) -> ResetAware:
    """Connect like `aiomysql.connect`."""
    made = ResetAware(*args, **named)
    await made._connect()
    return made
