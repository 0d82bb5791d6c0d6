"""Run the tests of each mutant in a copy of the tree: caught, survived, or covered by none."""

import argparse
import json
import queue
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from coverage import CoverageData

from tests.faults.long_run import workers
from tests.mutation.choose import Mutant, choose, product
from tests.mutation.copies import Copy, copied
from tests.mutation.covering import Covered, Covering, durations

ROOT = Path(__file__).parents[2]
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+)$", re.MULTILINE)
_PASSED = re.compile(r"\b\d+ passed\b")


def main() -> int:
    """Return 0 if no mutant survived."""
    options = _parser().parse_args()
    tree = options.tree.resolve()
    mutants = choose(product(tree), options.seed, options.count)
    if options.only:
        mutants = [each for each in mutants if any(word in each.id for word in options.only)]
    if options.list:
        _say("\n".join(f"{each.id}\n{each.diff}" for each in mutants))
        return 0
    found = covering(mutants, options, tree)
    asked: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    with ExitStack() as stack, ThreadPoolExecutor(options.workers) as pool:
        for _ in range(options.workers):
            asked.put(stack.enter_context(copied(tree)))

        def one(mutant: Mutant, tests: tuple[Covering, list[str]]) -> dict[str, Any]:
            copy = asked.get()
            try:
                result = tried(copy, mutant, tests[1], options.limit)
            finally:
                asked.put(copy)
            result |= {"id": mutant.id, "how": tests[0].how, "covering": len(tests[0].tests), "run": len(tests[1])}
            if not tests[1]:
                result["outcome"] = "covered without context" if tests[0].how else "not covered"
            _say(f"{result['outcome']:24} {mutant.id}  {len(tests[1])} by {tests[0].how or '-'}  {result['by']}")
            return {**result, "diff": mutant.diff}

        results = list(pool.map(one, mutants, found))
    counts = Counter(each["outcome"] for each in results)
    _say(", ".join(f"{number} {outcome}" for outcome, number in counts.most_common()) + f", of {len(results)}")
    if options.json:
        told = {"seed": options.seed, "count": options.count, "outcomes": counts, "mutants": results}
        options.json.write_text(json.dumps(told, indent=1), encoding="utf-8")
    return 1 if counts["survived"] else 0


def covering(mutants: Sequence[Mutant], options: argparse.Namespace, tree: Path) -> list[tuple[Covering, list[str]]]:
    """Return for each mutant the tests that run its line, and those of them to run."""
    if options.tests:
        return [(Covering("hand", tuple(options.tests)), options.tests)] * len(mutants)
    if not options.coverage.is_file():
        sys.exit(f"there is no {options.coverage}: see tests/mutation/README.md, or give --tests")
    data = CoverageData(basename=str(options.coverage))
    data.read()
    covered = Covered(tree, data, durations(tree, options.durations) if options.durations else {})
    if not covered.has_contexts:
        _say(f"{options.coverage} has no contexts: tests are chosen by the names of their files")
    found = [covered.of(each) for each in mutants]
    return [(each, covered.chosen(each.tests, options.most, options.seed)) for each in found]


def tried(copy: Copy, mutant: Mutant, tests: Sequence[str], limit_s: float) -> dict[str, Any]:
    """Run a mutant's tests; it is caught if a test fails with the mutant and passes without it."""
    started = time.monotonic()
    outcome, by = "not covered", ""
    if tests:
        copy.write(mutant.path, mutant.after)
        try:
            code, out = copy.pytest(["-x", "-q", "--tb=no", "-rfE", *tests], limit_s)
        finally:
            copy.write(mutant.path, mutant.before)
        if code == 0:
            outcome = "survived" if _PASSED.search(out) else "unclear"
            by = "" if outcome == "survived" else "every test was skipped"
        else:
            failed = _FAILED.findall(out)
            by = "hangs" if code is None else (failed or out.strip().splitlines()[-1:] or [""])[0].partition(" - ")[0]
            suspects = [test for test in tests if any(each.startswith(test) for each in failed)] or tests
            clean, _ = copy.pytest(["-x", "-q", "--tb=no", *suspects], limit_s)
            outcome = "caught" if clean == 0 else "unclear"
            by += "" if clean == 0 else ": fails without the mutant too"
    return {"outcome": outcome, "by": by, "seconds": round(time.monotonic() - started, 1)}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--only", nargs="*", default=(), help="those chosen whose id has one of these words")
    parser.add_argument("--list", action="store_true", help="show the mutants, and run nothing")
    parser.add_argument("--tree", type=Path, default=ROOT, help="another checkout; its .servers are used")
    parser.add_argument("--coverage", type=Path, default=Path(".coverage"), help="data with contexts")
    parser.add_argument("--durations", type=Path, help="what --junitxml wrote: the quickest tests are run")
    parser.add_argument("--tests", nargs="+", help="these, instead of those that coverage names")
    parser.add_argument("--most", type=int, default=40, help="tests for each mutant")
    parser.add_argument("--limit", type=float, default=300, help="seconds, after which a mutant hangs and is caught")
    parser.add_argument("--workers", type=workers, default=1, help="each has a copy of its own; auto: two cores each")
    parser.add_argument("--json", type=Path)
    return parser


def _say(words: str) -> None:
    print(words, flush=True)  # noqa: T201 - a long run tells how it goes
