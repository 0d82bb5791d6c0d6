"""`make faults`: run many seeds, print one line for each, then a table; write a JSON file on request."""

import argparse
import asyncio
import os
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import orjson

from tests.faults.planning.plan import SERVERS, UP, plan
from tests.faults.running.run_up import run_of
from tests.faults.running.world import world
from tests.faults.verifying.verdict import Verdict, logs_of
from tests.servers.processes.running import running


def main() -> int:
    """Return 0 if every seed converged."""
    options = _parser().parse_args()
    started = time.monotonic()
    until = started + options.minutes * 60 if options.minutes else None
    seeds = list(range(options.first_seed, options.first_seed + options.seeds))
    shares = [seeds[number :: options.workers] for number in range(options.workers)]
    verdicts: list[Verdict] = []
    with running(*(["ollama"] if options.ollama else [])) as servers:
        ollama = servers["ollama"].url if options.ollama else ""
        if options.workers == 1:
            verdicts = work(shares[0], until, ollama, options)
        else:
            with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
                asked = [pool.submit(work, share, until, ollama, options) for share in shares if share]
                verdicts = [verdict for each in asked for verdict in each.result()]
    told = summary(verdicts, time.monotonic() - started)
    _say(table(told))
    if options.json:
        options.json.write_bytes(orjson.dumps(told, option=orjson.OPT_INDENT_2))
    return 1 if told["failed"] else 0


def workers(asked: str) -> int:
    """Return the number of parallel workers; a worker keeps two cores busy."""
    return max(1, (os.cpu_count() or 2) // 2) if asked == "auto" else int(asked)


def _say(words: str) -> None:
    print(words, flush=True)  # noqa: T201 - a long run tells how it goes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--workers", type=workers, default=1, help="each has servers of its own; auto: two cores each")
    parser.add_argument("--minutes", type=float, default=0, help="begin no seed after so long; 0: run all")
    parser.add_argument("--operations", type=int, default=120, help="of each seed")
    parser.add_argument("--form", default="", choices=("", SERVERS, UP), help="only this one")
    parser.add_argument("--ollama", action="store_true", help="let some seeds embed with a real Ollama")
    parser.add_argument("--json", type=Path, help="write the result there")
    parser.add_argument("--logs", type=Path, help="keep what services said in seeds that failed")
    return parser


def work(seeds: Sequence[int], until: float | None, ollama: str, options: argparse.Namespace) -> list[Verdict]:
    """Run one worker's seeds one after the other, on servers of this worker."""
    verdicts: list[Verdict] = []
    with world(ollama_url=ollama) as servers:
        for seed in seeds:
            if until is not None and time.monotonic() > until:
                break
            made = plan(seed, servers.abilities, count=options.operations, form=options.form)
            verdict = asyncio.run(run_of(made, servers).verdict())
            _say(verdict.line())
            if not verdict.good:
                _say("     plan: " + "; ".join(map(str, made.faults)))
                if options.logs is not None:
                    options.logs.mkdir(parents=True, exist_ok=True)
                    logs_of(verdict, options.logs)
            verdicts.append(verdict)
    return verdicts


def summary(verdicts: Sequence[Verdict], seconds: float) -> dict[str, object]:
    """Return the summary that the long run reports."""
    injected: Counter[str] = Counter()
    acknowledged: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for each in verdicts:
        injected += each.injected
        acknowledged += each.acknowledged
        found.update(finding.kind for finding in each.findings)
    return {
        "seeds": len(verdicts),
        "failed": [each.seed for each in verdicts if not each.good],
        "seconds": round(seconds, 1),
        "forms": dict(Counter(each.form for each in verdicts)),
        "acknowledged": dict(sorted(acknowledged.items())),
        "faults": dict(sorted(injected.items())),
        "restarts": sum(each.restarts for each in verdicts),
        "findings": dict(found),
        "slowest convergence, seconds": round(max((each.converged_s for each in verdicts), default=0.0), 1),
    }


def table(told: dict[str, object]) -> str:
    """Format the summary for people."""
    lines = [""]
    for name, value in told.items():
        if isinstance(value, dict):
            lines.append(f"{name}: {sum(value.values())}")
            lines += [f"  {count:6}  {each}" for each, count in value.items()]
        else:
            lines.append(f"{name}: {value}")
    return "\n".join(lines)
