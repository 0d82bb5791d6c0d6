"""Kingfisher's rules, loaded once per process in a separate thread: the first time on a machine takes seconds."""

import threading
from asyncio import shield, wrap_future
from concurrent.futures import Future
from typing import Any, Final

import structlog

_log = structlog.get_logger(__name__)


class SecretRules:
    """Loads the detector with its rules. They are compiled into a cache if its folder is writable; otherwise each
    process compiles them again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loading: Future[Any] | None = None

    def start(self) -> "Future[Any]":
        """Start loading, once. The future returns the detector, or None if it could not be loaded."""
        with self._lock:
            if self._loading is None:
                self._loading = Future()
                threading.Thread(target=self._load, args=(self._loading,), name="secret-rules").start()
            return self._loading

    async def ready(self) -> bool:
        """Wait for the thread without blocking the event loop; True if there is a detector."""
        loading = self._loading or self.start()
        return (loading.result() if loading.done() else await shield(wrap_future(loading))) is not None

    def detector(self) -> Any:
        """Return the detector, or None; blocks until it is loaded."""
        return (self._loading or self.start()).result()

    def _load(self, loading: "Future[Any]") -> None:
        try:
            from kingfisher_sdk import Rules, Scanner

            loading.set_result(Scanner(Rules(confidence="medium"), base64=False))
        except Exception as error:  # noqa: BLE001 - whatever it is, the process goes on without them
            _log.warning(
                "secrets.rules_not_loaded",
                error=f"{type(error).__name__}: {error}",
                consequence="only OpenBrain's own keys and values assigned to names such as `password` are found",
            )
            loading.set_result(None)


RULES: Final = SecretRules()
"""The rules of this process."""
