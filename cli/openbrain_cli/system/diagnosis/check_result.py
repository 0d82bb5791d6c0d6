"""One line of the doctor's report."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from openbrain.domain.errors import OpenBrainError

T = TypeVar("T")

PATIENCE_S = 30.0
"""Seconds after which a dependency that does not answer counts as down."""

CLOCK_S = 2.0
"""Seconds of difference between two clocks above which leases and expiry become unreliable."""


class Status(StrEnum):
    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The subject of a check, its status, and advice if there is a problem."""

    name: str
    status: Status
    product: str = ""
    version: str = ""
    ms: float | None = None
    problems: tuple[str, ...] = ()
    """Advice; never contains a memory's content."""


def found(
    name: str, product: str, version: str, ms: float | None, *, red: Sequence[str] = (), yellow: Sequence[str] = ()
) -> CheckResult:
    """Make a result whose status follows from the problems."""
    status = Status.RED if red else Status.YELLOW if yellow else Status.GREEN
    return CheckResult(name=name, status=status, product=product, version=version, ms=ms, problems=(*red, *yellow))


def down(name: str, reason: str, *, status: Status = Status.RED) -> CheckResult:
    return CheckResult(name=name, status=status, problems=(reason,))


def clock_problems(theirs: float, sent: float, answered: float) -> Sequence[str]:
    """The problem of a remote clock that showed `theirs` at some time between `sent` and `answered` on this machine's
    clock, all in seconds since 1970. The duration of the request does not count as a difference."""
    seconds = max(sent - theirs, theirs - answered)
    if seconds <= CLOCK_S:
        return ()
    return (f"its clock differs from this machine's by {seconds:.0f} s: run a time service on both",)


async def timed(question: Callable[[], Awaitable[T]]) -> tuple[T, float]:
    """Return the answer and its duration in milliseconds. Raise `OpenBrainError` if none comes within `PATIENCE_S`."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE_S):
            answer = await question()
    except TimeoutError:
        raise OpenBrainError(f"no answer in {PATIENCE_S:.0f} s: look at its log and at the network") from None
    return answer, round((time.perf_counter() - started) * 1000, 1)


async def careful(name: str, check: Callable[[], Awaitable[CheckResult]]) -> CheckResult:
    """Run a check; a failure of the check itself becomes a result, too."""
    try:
        return await check()
    except OpenBrainError as error:
        return down(name, str(error))
    except Exception as error:  # noqa: BLE001 - one failing check must not stop the others
        return down(name, f"{type(error).__name__}: is it what its URL says it is?")
