"""For agents: hear the signals of a workspace, and stand still when it is halted."""

from openbrain.agents.connecting import subscribe
from openbrain.agents.cursors import Cursor, FileCursor, MemoryCursor
from openbrain.agents.subscriber import Handler, Standing, Subscriber

__all__ = ["Cursor", "FileCursor", "Handler", "MemoryCursor", "Standing", "Subscriber", "subscribe"]
