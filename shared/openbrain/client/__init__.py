"""The typed client of the REST API: over HTTP, or in process over ASGI if it is given a transport."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openbrain.client.arguments import Changes, Filters, NewKey, WorkspaceSettings
    from openbrain.client.blocking import SyncOpenBrain
    from openbrain.client.brain import Offer, OpenBrain

__all__ = ["Changes", "Filters", "NewKey", "Offer", "OpenBrain", "SyncOpenBrain", "WorkspaceSettings"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: parts of the client need neither models nor an HTTP library."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = {"Offer": "brain", "OpenBrain": "brain", "SyncOpenBrain": "blocking"}.get(name, "arguments")
    return getattr(import_module(f"openbrain.client.{module}"), name)
