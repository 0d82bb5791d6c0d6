"""The client's log events, written with the standard library's logging: an event's name and keys, never content.

By default a line reads `subscriber.trouble way=api error=TryLater`; `openbrain.observability.logs` reads the keys from
the record.
"""

import logging
from typing import Any

RECORD_KEYS = "openbrain_event"
"""The attribute of a record that holds the event's keys."""


class EventLog:
    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def info(self, event: str, **keys: Any) -> None:
        self._write(logging.INFO, event, keys)

    def warning(self, event: str, **keys: Any) -> None:
        self._write(logging.WARNING, event, keys)

    def error(self, event: str, **keys: Any) -> None:
        self._write(logging.ERROR, event, keys)

    def _write(self, level: int, event: str, keys: dict[str, Any]) -> None:
        if self._logger.isEnabledFor(level):
            line = " ".join((event, *(f"{name}={value}" for name, value in keys.items())))
            self._logger.log(level, "%s", line, extra={RECORD_KEYS: {"event": event, **keys}})


def get_logger(name: str) -> EventLog:
    return EventLog(logging.getLogger(name))
