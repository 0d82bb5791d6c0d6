"""Kingfisher's rules, loaded once a process, in a thread of their own: it takes seconds the first time on a machine."""

import threading
from asyncio import shield, wrap_future
from concurrent.futures import Future
from typing import Any, Final

import structlog

_log = structlog.get_logger(__name__)


class SecretRules:
    """The detector with its rules. They are compiled into a cache where a folder for it can be written; without one
    each process compiles them again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loading: Future[Any] | None = None

    def start(self) -> "Future[Any]":
        """Begin to load them, unless that has begun. What becomes of it: the detector, or None where there is none."""
        with self._lock:
            if self._loading is None:
                self._loading = Future()
                threading.Thread(target=self._load, args=(self._loading,), name="secret-rules").start()
            return self._loading

    async def ready(self) -> bool:
        """Wait for the thread, while others have the event loop. Whether there is a detector."""
        loading = self.start()
        return (loading.result() if loading.done() else await shield(wrap_future(loading))) is not None

    def detector(self) -> Any:
        """The detector, or None; waits for it."""
        return self.start().result()

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
"""Of the process."""
