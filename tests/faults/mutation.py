"""`make faults-mutants`: check that every scenario passes without a mutant and fails with each of its mutants."""

import argparse
import asyncio
import sys
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from tests.faults.long_run import workers
from tests.faults.planning.plan import Plan
from tests.faults.planning.scenarios import SCENARIOS
from tests.faults.processes.mutants import MUTANTS
from tests.faults.running.run_up import run_of
from tests.faults.running.world import World, world
from tests.faults.verifying.findings import told
from tests.faults.verifying.verdict import logs_of

Task = tuple[str, str]
"""(scenario, mutant); the mutant is '' for the unbroken product."""


def tasks(only: Sequence[str] = ()) -> list[Task]:
    """List each scenario without a mutant first, then with each of its mutants."""
    found: list[Task] = []
    for scenario in SCENARIOS:
        mutants = [name for name, each in MUTANTS.items() if each.scenario == scenario and (not only or name in only)]
        found += [(scenario, "")] * (bool(mutants) or not only) + [(scenario, name) for name in mutants]
    return found


def tried(task: Task, servers: World, logs: Path | None) -> tuple[Task, bool, str]:
    """Return the task, whether it ended as expected, and what was found."""
    scenario, mutant = task
    plan = replace(SCENARIOS[scenario](), mutant=mutant)
    try:
        verdict = asyncio.run(run_of(plan, servers).verdict())
    except TimeoutError as error:
        return task, False, f"it never came to what the scenario is about: {error}"
    if logs is not None and not mutant and not verdict.good:
        logs.mkdir(parents=True, exist_ok=True)
        logs_of(verdict, logs)
    if not mutant and (never := missed(plan, verdict.injected)):
        return task, False, f"nobody came to its mark: {', '.join(never)}"
    return task, verdict.good is (mutant == ""), told(verdict.findings, 2) or f"{verdict.seconds:.1f} s"


def missed(plan: Plan, injected: Collection[str]) -> list[str]:
    """Return the marks that no process reached: their faults were never injected."""
    marks = [fault for fault in plan.faults if fault.kind.endswith("at a mark")]
    named = [f"at a mark: {each.more['action']} {each.more['room']} {each.more['point']}" for each in marks]
    return [each for each in named if each not in injected]


def main() -> int:
    """Return 0 if every mutant was caught and every scenario passes without one."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.mutation", description=__doc__)
    parser.add_argument("--workers", type=workers, default=1, help="each has servers of its own; auto: two cores each")
    parser.add_argument("--only", nargs="*", default=(), choices=list(MUTANTS), help="these mutants")
    parser.add_argument("--logs", type=Path, help="keep what services said in scenarios that failed unbroken")
    options = parser.parse_args()
    started = time.monotonic()
    asked = tasks(options.only)
    shares = [asked[number :: options.workers] for number in range(options.workers)]
    if options.workers == 1:
        results = work(asked, options.logs)
    else:
        with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
            results = [each for share in pool.map(work, shares, [options.logs] * options.workers) for each in share]
    wrong = [task for task, right, _ in results if not right]
    caught = sum(1 for (_, mutant), right, _ in results if mutant and right)
    mutants = sum(1 for (_, mutant), _, _ in results if mutant)
    plain = len(results) - mutants
    passed = plain - sum(1 for _, mutant in wrong if not mutant)
    seconds = time.monotonic() - started
    _say(f"\n{caught} of {mutants} mutants caught, {passed} of {plain} scenarios pass unbroken, {seconds:.0f} s")
    for scenario, mutant in wrong:
        _say(f"WRONG: {scenario!r} with {mutant or 'nothing broken'}")
    return 1 if wrong else 0


def _say(words: str) -> None:
    print(words, flush=True)  # noqa: T201 - a long run tells how it goes


def work(share: Sequence[Task], logs: Path | None) -> list[tuple[Task, bool, str]]:
    """Run tasks one after the other on servers of this worker."""
    results = []
    with world(stream_servers=("redis",)) as servers:
        for task in share:
            result = tried(task, servers, logs)
            _, right, said = result
            name = f"caught {task[1]!r} by" if task[1] else "passes"
            _say(f"{'ok   ' if right else 'WRONG'} {name} {task[0]!r}: {said}")
            results.append(result)
    return results


if __name__ == "__main__":
    sys.exit(main())
