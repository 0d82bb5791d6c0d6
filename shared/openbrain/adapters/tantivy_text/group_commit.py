"""One thread that writes for all: whatever arrives while a commit runs is the next commit."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from openbrain.adapters.tantivy_text.generation import Batch, Failures
from openbrain.errors import TryLater

MOST_ENTRIES = 1_000
"""Of one commit; more gain nothing."""

_Waiting = tuple[Batch, "Future[Failures]"]


class GroupCommit:
    """A batch that comes alone is committed at once. Where several writers came last time, they are waited for, as
    long as a commit takes and no longer than `longest_wait_s`."""

    def __init__(self, name: str, write: Callable[[Sequence[Batch]], list[Failures]], longest_wait_s: float) -> None:
        self._write = write
        self._longest_wait_s = longest_wait_s
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._writers = 1
        self._commit_s = 0.0
        self._closed = False
        self._closing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, batch: Batch) -> "Future[Failures]":
        """Done when the batch is on disk and searches find it."""
        future: Future[Failures] = Future()
        with self._closing:
            if self._closed:
                raise TryLater("the text index is closing")
            self._queue.put((batch, future))
        return future

    def close(self) -> None:
        """Write what waits, then end the thread."""
        with self._closing:
            self._closed = True
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            group, last = self._gather(first)
            self._commit([each for each in group if each[1].set_running_or_notify_cancel()])
            self._writers = len(group)
            if last:
                return

    def _gather(self, first: _Waiting) -> tuple[list[_Waiting], bool]:
        group, entries = [first], len(first[0])
        until = time.monotonic() + min(self._commit_s, self._longest_wait_s)
        while entries < MOST_ENTRIES:
            patience = until - time.monotonic() if len(group) < self._writers else 0.0
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
        began = time.monotonic()
        try:
            failures = self._write([batch for batch, _ in group])
        except BaseException as error:  # noqa: BLE001 - a panic of tantivy is no Exception; the thread must outlive it
            reason = error if isinstance(error, Exception) else TryLater("the text index broke off a write")
            for _, future in group:
                future.set_exception(reason)
        else:
            for (_, future), failed in zip(group, failures, strict=True):
                future.set_result(failed)
        self._commit_s = time.monotonic() - began
