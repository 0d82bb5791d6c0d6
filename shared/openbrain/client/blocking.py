"""The client for code without an event loop: the methods of `OpenBrain`, blocking until they are done."""

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import CancelledError
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from openbrain.client.brain import OpenBrain
from openbrain.domain.tasks import cancel

P = ParamSpec("P")
R = TypeVar("R")
_LOOK_S = 0.01


def blocking(
    method: Callable[Concatenate[OpenBrain, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate["SyncOpenBrain", P], R]:
    @wraps(method)
    def call(brain: "SyncOpenBrain", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return brain.run(method(brain.asynchronous, *args, **kwargs))

    return call


def iterating(
    method: Callable[Concatenate[OpenBrain, P], AsyncGenerator[R, None]],
) -> Callable[Concatenate["SyncOpenBrain", P], Generator[R, None, None]]:
    @wraps(method)
    def call(brain: "SyncOpenBrain", /, *args: P.args, **kwargs: P.kwargs) -> Generator[R, None, None]:
        items = method(brain.asynchronous, *args, **kwargs)
        try:
            while (item := brain.run(_next(items))) is not None:
                yield item[0]
        finally:
            if not brain.closed:  # else it has ended
                brain.run(_closed(items))

    return call


class SyncOpenBrain:
    """Blocking client of one server with one key. Takes the arguments of `OpenBrain`. Safe to share between threads,
    and with a process that is forked. The writes in its `outbox` are sent in the background, from its first call until
    it is closed."""

    def __init__(self, url: str, key: str = "", **options: Any) -> None:
        self._make: Callable[[], OpenBrain] = lambda: OpenBrain(url, key, **options)
        self._delivers = options.get("outbox") is not None
        self._of_parents: list[object] = []
        self.closed = False
        self._asynchronous: OpenBrain | None = self._make()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.RLock()
        _clients.add(self)

    @property
    def asynchronous(self) -> OpenBrain:
        with self._starting:
            if self._asynchronous is None:
                self._asynchronous = self._make()
            return self._asynchronous

    def _after_fork(self) -> None:
        """Begin anew in the child: it has no thread, and the connections are the parent's. They are not even closed."""
        self._of_parents += [self._asynchronous, self._loop]
        self._asynchronous, self._loop, self._starting = None, None, threading.RLock()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine of `asynchronous` and wait for it. An interrupt cancels it."""
        with self._starting:
            if self.closed:
                work.close()
                raise RuntimeError("this client is closed: make a new one")
            waiting = asyncio.run_coroutine_threadsafe(work, self._running_loop())
        try:
            return waiting.result()
        except CancelledError:
            raise RuntimeError("this client was closed meanwhile") from None
        except BaseException:
            waiting.cancel()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. What other threads still wait for raises `RuntimeError`."""
        with self._starting:
            if self.closed:
                return
            self.closed, loop = True, self._running_loop()
            ending = asyncio.run_coroutine_threadsafe(self._end(), loop)
        try:
            ending.result()
        finally:
            loop.call_soon_threadsafe(loop.stop)

    async def _end(self) -> None:
        await cancel(*(asyncio.all_tasks() - {asyncio.current_task()}))
        await asyncio.get_running_loop().shutdown_asyncgens()
        await self.asynchronous.close()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_serve, args=(self._loop,), name="openbrain-client", daemon=True).start()
            if self._delivers:
                asyncio.run_coroutine_threadsafe(self.asynchronous.delivering(), self._loop)
        return self._loop

    remember = blocking(OpenBrain.remember)
    remember_batch = blocking(OpenBrain.remember_batch)
    recall = blocking(OpenBrain.recall)
    recall_batch = blocking(OpenBrain.recall_batch)
    feedback = blocking(OpenBrain.feedback)
    review = blocking(OpenBrain.review)
    memories = blocking(OpenBrain.memories)
    memory = blocking(OpenBrain.memory)
    memory_whole = blocking(OpenBrain.memory_whole)
    related = blocking(OpenBrain.related)
    update = blocking(OpenBrain.update)
    forget = blocking(OpenBrain.forget)
    restore = blocking(OpenBrain.restore)
    health = blocking(OpenBrain.health)

    search = blocking(OpenBrain.search)
    tags = blocking(OpenBrain.tags)
    scopes = blocking(OpenBrain.scopes)
    brief = blocking(OpenBrain.brief)

    context = blocking(OpenBrain.context)
    start_session = blocking(OpenBrain.start_session)
    sessions = blocking(OpenBrain.sessions)
    session = blocking(OpenBrain.session)
    append_turns = blocking(OpenBrain.append_turns)
    end_session = blocking(OpenBrain.end_session)
    send_message = blocking(OpenBrain.send_message)
    inbox = blocking(OpenBrain.inbox)
    hear_messages = iterating(OpenBrain.hear_messages)
    conversation = blocking(OpenBrain.conversation)
    mark_read = blocking(OpenBrain.mark_read)
    subscribe_query = blocking(OpenBrain.subscribe_query)
    subscriptions = blocking(OpenBrain.subscriptions)
    subscription = blocking(OpenBrain.subscription)
    replay_subscription = blocking(OpenBrain.replay_subscription)
    remove_subscription = blocking(OpenBrain.remove_subscription)

    capture = blocking(OpenBrain.capture)
    capture_all = blocking(OpenBrain.capture_all)
    thought = blocking(OpenBrain.thought)
    recent_thoughts = blocking(OpenBrain.recent_thoughts)
    search_thoughts = blocking(OpenBrain.search_thoughts)
    thought_stats = blocking(OpenBrain.thought_stats)
    change_thought = blocking(OpenBrain.change_thought)
    delete_thought = blocking(OpenBrain.delete_thought)
    delete_thoughts = blocking(OpenBrain.delete_thoughts)

    raise_signal = blocking(OpenBrain.raise_signal)
    signals = blocking(OpenBrain.signals)
    signal = blocking(OpenBrain.signal)
    acknowledge_signal = blocking(OpenBrain.acknowledge_signal)
    resolve_signal = blocking(OpenBrain.resolve_signal)
    raise_halt = blocking(OpenBrain.raise_halt)
    halts = blocking(OpenBrain.halts)
    halt = blocking(OpenBrain.halt)
    acknowledge_halt = blocking(OpenBrain.acknowledge_halt)
    resume_halt = blocking(OpenBrain.resume_halt)
    amygdala = blocking(OpenBrain.amygdala)
    broadcasts = blocking(OpenBrain.broadcasts)
    subscribers = blocking(OpenBrain.subscribers)
    hear = iterating(OpenBrain.hear)

    feed = blocking(OpenBrain.feed)
    alarm = blocking(OpenBrain.alarm)
    post_marker = blocking(OpenBrain.post_marker)
    write_inbox = blocking(OpenBrain.write_inbox)
    index_artifact = blocking(OpenBrain.index_artifact)
    vault_list = blocking(OpenBrain.vault_list)
    vault_files = iterating(OpenBrain.vault_files)
    vault_page = blocking(OpenBrain.vault_page)
    vault_search = blocking(OpenBrain.vault_search)
    search_arcs = blocking(OpenBrain.search_arcs)
    arc = blocking(OpenBrain.arc)
    deep_health = blocking(OpenBrain.deep_health)
    pipeline_health = blocking(OpenBrain.pipeline_health)

    request_tick = blocking(OpenBrain.request_tick)
    tick = blocking(OpenBrain.tick)

    export = iterating(OpenBrain.export)
    import_lines = blocking(OpenBrain.import_lines)

    erase = blocking(OpenBrain.erase)
    forget_matching = blocking(OpenBrain.forget_matching)
    delete_workspace = blocking(OpenBrain.delete_workspace)
    operations = blocking(OpenBrain.operations)
    operation = blocking(OpenBrain.operation)
    watch = iterating(OpenBrain.watch)
    cancel = blocking(OpenBrain.cancel)

    create_workspace = blocking(OpenBrain.create_workspace)
    change_workspace = blocking(OpenBrain.change_workspace)
    workspaces = blocking(OpenBrain.workspaces)
    create_key = blocking(OpenBrain.create_key)
    rotate_key = blocking(OpenBrain.rotate_key)
    keys = blocking(OpenBrain.keys)
    revoke_key = blocking(OpenBrain.revoke_key)
    whoami = blocking(OpenBrain.whoami)

    create_webhook = blocking(OpenBrain.create_webhook)
    webhooks = blocking(OpenBrain.webhooks)
    webhook = blocking(OpenBrain.webhook)
    enable_webhook = blocking(OpenBrain.enable_webhook)
    remove_webhook = blocking(OpenBrain.remove_webhook)
    webhook_dead_letters = blocking(OpenBrain.webhook_dead_letters)
    replay_webhook_dead_letters = blocking(OpenBrain.replay_webhook_dead_letters)

    reindex = blocking(OpenBrain.reindex)
    generations = blocking(OpenBrain.generations)
    switch_generation = blocking(OpenBrain.switch_generation)
    drop_generation = blocking(OpenBrain.drop_generation)
    verify = blocking(OpenBrain.verify)

    prune = blocking(OpenBrain.prune)
    dedupe = blocking(OpenBrain.dedupe)
    consolidate = blocking(OpenBrain.consolidate)
    refile = blocking(OpenBrain.refile)
    backfill_org = blocking(OpenBrain.backfill_org)
    clean = blocking(OpenBrain.clean)
    undo = blocking(OpenBrain.undo)
    policies = blocking(OpenBrain.policies)
    set_policies = blocking(OpenBrain.set_policies)
    retention = blocking(OpenBrain.retention)

    model_in_use = blocking(OpenBrain.model_in_use)
    change_model = blocking(OpenBrain.change_model)

    streams = blocking(OpenBrain.streams)
    metrics = blocking(OpenBrain.metrics)
    replay = blocking(OpenBrain.replay)
    bury = blocking(OpenBrain.bury)
    pause_group = blocking(OpenBrain.pause_group)
    resume_group = blocking(OpenBrain.resume_group)
    register_group = blocking(OpenBrain.register_group)
    unregister_group = blocking(OpenBrain.unregister_group)
    dead_letters = blocking(OpenBrain.dead_letters)
    dead_letter = blocking(OpenBrain.dead_letter)
    replay_dead = blocking(OpenBrain.replay_dead)
    discard_dead = blocking(OpenBrain.discard_dead)


_clients: "weakref.WeakSet[SyncOpenBrain]" = weakref.WeakSet()


def _after_fork() -> None:
    for client in _clients:
        client._after_fork()


os.register_at_fork(after_in_child=_after_fork)


async def _next(items: AsyncGenerator[R, None]) -> tuple[R] | None:
    try:
        return (await anext(items),)
    except StopAsyncIteration:
        return None


async def _closed(items: AsyncGenerator[Any, None]) -> None:
    """Close the generator. After an interrupt its last step may still be ending, and it can't be closed before."""
    while getattr(items, "ag_running", False):  # noqa: ASYNC110 - nothing signals its end
        await asyncio.sleep(_LOOK_S)
    await items.aclose()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
