"""The thread that runs a model: which callers share a run, and which do not."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from openbrain.adapters.embedding.model_thread import ModelThread, Pieces, Texts
from tests.support.waiting import until

TOKENS = 12


class Model:
    """Records the texts of each run, and waits while `held` is not set."""

    def __init__(self) -> None:
        self.runs: list[list[int]] = []
        self.held = threading.Event()
        self.held.set()

    def lengths(self, texts: Texts) -> Sequence[int]:
        lengths = [sum(map(len, pieces)) for pieces in texts]
        self.runs.append(lengths)
        assert self.held.wait(20)
        if 13 in lengths:
            raise ValueError("13 tokens")
        return lengths

    async def begun(self) -> bool:
        return bool(self.runs)

    def other(self, texts: Texts) -> Sequence[int]:
        return [-length for length in self.lengths(texts)]


def text(*pieces: int) -> Pieces:
    return [[0] * length for length in pieces]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
async def thread(model: Model) -> AsyncIterator[ModelThread]:
    thread = ModelThread("model", TOKENS)
    yield thread
    model.held.set()
    await thread.close()


async def waiting(
    thread: ModelThread, model: Model, *asked: tuple[Callable[[Texts], Sequence[int]], Sequence[Pieces]]
) -> list[asyncio.Task[Sequence[int]]]:
    """Start a run of 1 token, and submit each of `asked` while it lasts."""
    model.held.clear()
    first = asyncio.create_task(thread.run(model.lengths, [text(1)]))
    await until(model.begun)
    tasks = [asyncio.create_task(thread.run(work, texts)) for work, texts in asked]
    await asyncio.sleep(0)
    return [first, *tasks]


async def test_texts_of_several_callers_that_wait_share_a_run(thread: ModelThread, model: Model) -> None:
    tasks = await waiting(thread, model, *((model.lengths, [text(length)]) for length in (4, 3, 4)))
    model.held.set()
    assert await asyncio.gather(*tasks) == [[1], [4], [3], [4]]
    assert model.runs == [[1], [4, 3, 4]]


class Turns:
    """A clock by which each turn of the event loop takes a millisecond, or nothing when it is idle."""

    def __init__(self) -> None:
        self.at = 0.0
        self.busy = True

    def now(self) -> float:
        self.at += 0.001 * self.busy
        return self.at


async def test_texts_that_come_while_the_event_loop_is_busy_share_a_run(model: Model) -> None:
    turns = Turns()
    thread = ModelThread("model", TOKENS, gather_s=0.01, now=turns.now)
    await thread.run(model.lengths, [text(1)])
    tasks = []
    for length in (2, 3):
        tasks.append(asyncio.create_task(thread.run(model.lengths, [text(length)])))
        for _ in range(3):
            await asyncio.sleep(0)
    assert model.runs == [[1]]
    turns.busy = False
    assert await asyncio.gather(*tasks) == [[2], [3]]
    assert model.runs == [[1], [2, 3]]
    await thread.close()


async def test_however_busy_the_event_loop_is_no_text_waits_for_long(model: Model) -> None:
    turns = Turns()
    thread = ModelThread("model", TOKENS, gather_s=0.01, now=turns.now)
    waits = []
    for pause in (0, 0, 0.02):
        turns.at += pause
        asked_at = turns.at
        assert await thread.run(model.lengths, [text(2)]) == [2]
        waits.append(round(turns.at - asked_at, 3))
    assert waits == [0.002, 0.011, 0.002], "only one that comes soon after another waits at all"
    with pytest.raises(asyncio.CancelledError):
        await asyncio.gather(thread.run(model.lengths, [text(3)]), thread.close())
    assert model.runs == [[2]] * 3


async def test_texts_of_one_request_share_a_run(model: Model) -> None:
    thread = ModelThread("model", TOKENS, gather_s=0.01)
    assert await thread.run(model.lengths, [text(2), text(3), text(2)]) == [2, 3, 2]
    assert model.runs == [[2, 2, 3]]
    await thread.close()


def test_a_text_of_an_event_loop_that_ended_keeps_no_other_waiting(model: Model) -> None:
    turns = Turns()
    thread = ModelThread("model", TOKENS, gather_s=0.01, now=turns.now)

    async def leave() -> None:
        await thread.run(model.lengths, [text(1)])
        left.append(asyncio.ensure_future(thread.run(model.lengths, [text(2)])))
        await asyncio.sleep(0)

    async def ask() -> Sequence[int]:
        lengths = await thread.run(model.lengths, [text(3)])
        await thread.close()
        with pytest.raises(RuntimeError, match="closed"):
            await thread.run(model.lengths, [text(4)])
        return lengths

    left: list[asyncio.Future[Sequence[int]]] = []
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    first.run_until_complete(leave())
    assert model.runs == [[1]]
    assert second.run_until_complete(ask()) == [3]
    assert first.run_until_complete(left[0]) == [2]
    for loop in (first, second):
        loop.close()


async def test_a_run_has_no_more_tokens_than_allowed_padding_included(thread: ModelThread, model: Model) -> None:
    tasks = await waiting(thread, model, *((model.lengths, [text(length)]) for length in (2, 2, 5, 1)))
    model.held.set()
    await asyncio.gather(*tasks)
    assert model.runs == [[1], [2, 2], [5, 1]]


async def test_texts_of_one_caller_are_run_by_length_and_answered_in_order(thread: ModelThread, model: Model) -> None:
    assert await thread.run(model.lengths, [text(9), text(2), text(4), text(3)]) == [9, 2, 4, 3]
    assert [length for run in model.runs for length in run] == [2, 3, 4, 9]


async def test_who_asks_for_many_keeps_nobody_waiting_until_the_end(thread: ModelThread, model: Model) -> None:
    model.held.clear()
    many = asyncio.create_task(thread.run(model.lengths, [text(5)] * 6))
    await until(model.begun)
    one = asyncio.create_task(thread.run(model.lengths, [text(5)]))
    await asyncio.sleep(0)
    model.held.set()
    first, _ = await asyncio.wait({many, one}, return_when=asyncio.FIRST_COMPLETED)

    assert first == {one}
    assert await many == [5] * 6


async def test_a_text_longer_than_the_window_runs_alone(thread: ModelThread, model: Model) -> None:
    tasks = await waiting(thread, model, *((model.lengths, [each]) for each in (text(2), text(2, 1), text(2))))
    model.held.set()
    assert await asyncio.gather(*tasks) == [[1], [2], [3], [2]]
    assert model.runs == [[1], [2], [3], [2]]


async def test_what_is_asked_differently_is_run_apart(thread: ModelThread, model: Model) -> None:
    tasks = await waiting(thread, model, (model.lengths, [text(2)]), (model.other, [text(2)]))
    model.held.set()
    assert await asyncio.gather(*tasks) == [[1], [2], [-2]]
    assert model.runs == [[1], [2], [2]]


async def test_who_no_longer_waits_is_left_out(thread: ModelThread, model: Model) -> None:
    first, gone, other = await waiting(thread, model, *((model.lengths, [text(length)]) for length in (2, 3)))
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    model.held.set()
    assert list(await asyncio.gather(first, other)) == [[1], [3]]
    assert model.runs == [[1], [3]]


async def test_an_error_reaches_only_those_of_its_run(thread: ModelThread, model: Model) -> None:
    tasks = await waiting(thread, model, *((model.lengths, [text(length)]) for length in (2, 13, 3)))
    model.held.set()
    first, before, failed, behind = await asyncio.gather(*tasks, return_exceptions=True)
    assert [first, before, behind] == [[1], [2], [3]]
    assert isinstance(failed, ValueError)


async def test_close_ends_what_waits(thread: ModelThread, model: Model) -> None:
    first, behind = await waiting(thread, model, (model.lengths, [text(2)]))
    closing = asyncio.create_task(thread.close())
    await asyncio.sleep(0)
    model.held.set()
    await closing
    assert await first == [1]
    with pytest.raises(asyncio.CancelledError):
        await behind
