"""For agents: receive the signals of a workspace and the agent's own inbox, and stop when a halt is raised."""

from openbrain.client.subscriber.connect import subscribe
from openbrain.client.subscriber.cursors import Cursor, FileCursor, MemoryCursor
from openbrain.client.subscriber.inbox import Inbox, MessageHandler
from openbrain.client.subscriber.subscriber import Handler, Standing, Subscriber

__all__ = [
    "Cursor",
    "FileCursor",
    "Handler",
    "Inbox",
    "MemoryCursor",
    "MessageHandler",
    "Standing",
    "Subscriber",
    "subscribe",
]
