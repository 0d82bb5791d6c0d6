"""One thread that writes for all: batches that arrive during a commit form the next commit."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from openbrain.adapters.tantivy.generation import Batch, Failures
from openbrain.domain.errors import TryLater

MOST_ENTRIES = 256
"""Entries from which on a commit waits for no more: twice as many would save only a quarter of its cost."""
FLOW = 16
"""Entries from which on a commit counts as part of a flow: more are expected."""

_Waiting = tuple[Batch, "Future[Failures]"]


class GroupCommit:
    """Combines waiting batches into commits. A commit costs some 10 ms of a core whatever its size, plus later merges.
    So in a flow of entries commits start `pause_s` apart; a full commit, and the first one after a pause, start at
    once."""

    def __init__(self, name: str, write: Callable[[Sequence[Batch]], list[Failures]], pause_s: float) -> None:
        self._write = write
        self._pause_s = pause_s
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._not_before = 0.0
        self._closed = False
        self._closing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, batch: Batch) -> "Future[Failures]":
        """Queue a batch. The future completes when the batch is on disk and searches find it."""
        future: Future[Failures] = Future()
        with self._closing:
            if self._closed:
                raise TryLater("the text index is closing")
            self._queue.put((batch, future))
        return future

    def close(self) -> None:
        """Write all waiting batches, then end the thread."""
        with self._closing:
            self._closed = True
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            group, last = self._gather(first)
            flows = sum(len(batch) for batch, _ in group) >= FLOW
            self._not_before = time.monotonic() + self._pause_s if flows else 0.0
            self._commit([item for item in group if item[1].set_running_or_notify_cancel()])
            if last:
                return

    def _gather(self, first: _Waiting) -> tuple[list[_Waiting], bool]:
        group, entries = [first], len(first[0])
        while entries < MOST_ENTRIES:
            patience = self._not_before - time.monotonic()
            try:
                following = self._queue.get(timeout=patience) if patience > 0 else self._queue.get_nowait()
            except queue.Empty:
                break
            if following is None:
                return group, True
            group.append(following)
            entries += len(following[0])
        return group, False

    def _commit(self, group: Sequence[_Waiting]) -> None:
        if not group:
            return
        try:
            failures = self._write([batch for batch, _ in group])
        except BaseException as error:  # noqa: BLE001 - a panic of tantivy is no Exception; the thread must outlive it
            reason = error if isinstance(error, Exception) else TryLater("the text index broke off a write")
            for _, future in group:
                future.set_exception(reason)
        else:
            for (_, future), failed in zip(group, failures, strict=True):
                future.set_result(failed)
