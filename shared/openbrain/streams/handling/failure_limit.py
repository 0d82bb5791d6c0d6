"""The limit that stops a consumer when most entries fail, before all become dead letters."""

import time
from collections.abc import Callable, Iterable
from itertools import islice

import structlog

from openbrain.domain.errors import OpenBrainError, error_kind, error_text
from openbrain.domain.tasks import Backoff
from openbrain.observability import metrics
from openbrain.streams.group.delivery import Entry

_REMEMBERED = 40
"""Number of earlier outcomes that count in addition to those of the present batch: older ones fade."""
_KNOWN = 2000
"""Remembered ids of entries that were given back, at most; the oldest are forgotten and then treated like any other."""
_log = structlog.get_logger(__name__)


class MostFail(OpenBrainError):
    """Most entries fail: only an occasional one is tried."""


class FailureLimit:
    """The failure limit of one stream and group. It is open, or stopped: then one entry at a time is tried after each
    pause.

    The entries that failed when it stopped lose no attempt: they are kept for the first probe, and given back if that
    fails, because another replica may work. Probes alternate between one of these and a new entry of the stream, so
    that many bad entries don't hide that all others would succeed. If a probe succeeds, reading continues, and entries
    that were kept or given back are tried once more without counting for the limit.

    share: of the entries, 0..1; it stops if more fail. least: failures needed before it stops.
    """

    def __init__(
        self,
        stream: str,
        group: str,
        backoff: Backoff,
        *,
        share: float,
        least: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stopped = False
        self.kept: dict[str, Entry] = {}
        """Kept entries by id, in the order in which they are tried again."""
        self.gives_back = False
        """Whether kept entries are given back: a probe failed too."""
        self.why = ""
        """While stopped: what failed, and how often."""
        self.probed = ""
        """The given-back entry that was probed last."""
        self._stream, self._group, self._backoff, self._clock = stream, group, backoff, clock
        self._share, self._least = share, least
        self._done = self._failed = self._until = 0.0
        self._new_next = False
        self._given: dict[str, None] = {}
        self._gauge = metrics.STREAM_STOPPED.labels(stream, group)
        self._gauge.set(0)

    def note(self, done: int, failed: int, error: Exception | None, *, unknown: int = 0) -> bool:
        """Note the outcomes of a batch: numbers of handled and failed entries, the last `error`, and the number of
        entries whose outcome is unknown. Return True if the failed ones are to be kept."""
        if self.stopped:
            if done:
                self.resume()
            elif failed:
                self.gives_back = True
                self._until = self._clock() + self._backoff.next()
            return self.stopped and failed > 0
        fade = min(1.0, _REMEMBERED / max(1.0, self._done + self._failed))
        self._done, self._failed = self._done * fade + done, self._failed * fade + failed
        all_of_them = self._done + self._failed + unknown
        if failed and error and self._failed >= self._least and self._failed > self._share * all_of_them:
            self._stop(error, all_of_them)
        return self.stopped

    def _stop(self, error: Exception, of: float) -> None:
        self.stopped, self.gives_back, self._new_next = True, False, False
        self._until = self._clock() + self._backoff.next()
        self._gauge.set(1)
        failed, of = round(self._failed), round(of)
        self.why = f"{failed} of the last {of} entries of {self._stream} failed, the last with {error_kind(error)}"
        _log.error(
            "streams.most_fail",
            stream=self._stream,
            group=self._group,
            failed=failed,
            of=of,
            error=error_kind(error),
            message=error_text(error),
        )

    def resume(self) -> None:
        """Read on: a probe succeeded, or nothing that failed is left."""
        self.stopped, self.gives_back, self.why = False, False, ""
        self._done = self._failed = 0.0
        self._backoff.reset()
        self._gauge.set(0)
        _log.info("streams.entries_pass", stream=self._stream, group=self._group, kept=len(self.kept))

    def wait_s(self) -> float:
        """Seconds until the next probe is allowed; 0 if it is allowed now."""
        return max(0.0, self._until - self._clock()) if self.stopped else 0.0

    def probes_new(self, most: int) -> bool:
        """Whether the next probe is a new entry instead of a failed one. No new ones if `most` entries failed
        already."""
        new, self._new_next = self._new_next, not self._new_next
        return new and len(self.kept) + len(self._given) < most

    def keep(self, entries: Iterable[Entry]) -> None:
        """Keep entries, after those already kept."""
        for entry in entries:
            self.kept.pop(entry.id, None)
            self.kept[entry.id] = entry

    def take(self, count: int) -> list[Entry]:
        """Remove and return the first kept entries."""
        taken = list(islice(self.kept.values(), count))
        self.drop(entry.id for entry in taken)
        return taken

    def give_back(self) -> list[str]:
        """Return the ids of all kept entries and stop keeping them; they are remembered."""
        given = list(self.kept)
        self.kept.clear()
        self._given.update(dict.fromkeys(given))
        for entry in list(islice(self._given, max(0, len(self._given) - _KNOWN))):
            del self._given[entry]
        return given

    def gave(self, entry: str) -> bool:
        """Whether this entry failed here and was given back."""
        return entry in self._given

    def take_uncounted(self, entries: Iterable[Entry]) -> set[str]:
        """Return those of the entries that failed here while most did, if most no longer do: they do not count for the
        limit, once."""
        uncounted = set() if self.stopped else {entry.id for entry in entries if entry.id in self._given}
        for entry in uncounted:
            del self._given[entry]
        return uncounted

    def drop(self, ids: Iterable[str]) -> None:
        """Forget entries that another consumer has claimed."""
        for entry in ids:
            self.kept.pop(entry, None)

    def check(self) -> None:
        """Raise `MostFail` while stopped."""
        if self.stopped:
            raise MostFail(
                f"{self.why}: it tries one entry after growing pauses, the next in {self.wait_s():.0f} s, and loses "
                "none. Look at the log, then mend what fails, or bury the entries that can't be handled"
            )
