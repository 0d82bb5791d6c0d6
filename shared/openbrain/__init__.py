"""OpenBrain: shared memory and nervous system for a fleet of AI agents. These names are public; modules may move."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from openbrain.domain.version import __version__

if TYPE_CHECKING:
    from openbrain.client import OpenBrain, SyncOpenBrain
    from openbrain.client.subscriber import Subscriber, subscribe
    from openbrain.domain.errors import (
        Conflict,
        Forbidden,
        Halted,
        Invalid,
        NotFound,
        OpenBrainError,
        QuotaExceeded,
        RateLimited,
        TryLater,
        Unauthorised,
    )
    from openbrain.domain.memory import Memory, MemoryType, Scope
    from openbrain.domain.signals.values import Severity

__all__ = [
    "Conflict",
    "Forbidden",
    "Halted",
    "Invalid",
    "Memory",
    "MemoryType",
    "NotFound",
    "OpenBrain",
    "OpenBrainError",
    "QuotaExceeded",
    "RateLimited",
    "Scope",
    "Severity",
    "Subscriber",
    "SyncOpenBrain",
    "TryLater",
    "Unauthorised",
    "__version__",
    "subscribe",
]

_MODULES = {
    "OpenBrain": "openbrain.client",
    "SyncOpenBrain": "openbrain.client",
    "Subscriber": "openbrain.client.subscriber",
    "subscribe": "openbrain.client.subscriber",
    "Memory": "openbrain.domain.memory",
    "MemoryType": "openbrain.domain.memory",
    "Scope": "openbrain.domain.memory",
    "Severity": "openbrain.domain.signals.values",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that importing the domain loads neither an HTTP client nor Redis."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES.get(name, "openbrain.domain.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__]
