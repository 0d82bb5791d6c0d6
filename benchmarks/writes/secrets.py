"""Secrets in new memories: detection rate, false alarms, and the cost of the check.

The labelled set is `benchmarks.support.labelled.secret_samples`: 300 texts with a secret, 300 with similar values; half
of it was fixed before the detector was chosen.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

from benchmarks.support.labelled.secret_samples import HALVES, Sample, samples
from benchmarks.support.report import Report, Row
from openbrain.ports.content import Detector

NAME = "secrets"
RECALL, FALSE_ALARMS = 0.97, 0.02
COST_S = 20e-6
"""Time of the check of an ordinary memory: a 26th of the time per memory at 1,900 a second."""
PROSE = (
    "Deploys of the shop are on Tuesdays at nine, after the tests of the night; who deploys says so in the channel. "
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Repeats."""
    parser.add_argument("--secrets-repeats", type=int, default=7)


def run(options: argparse.Namespace) -> Report:
    """Detection rate and false alarms of each half; then the cost of the check."""
    from openbrain.adapters.local.secret_detector import SecretDetector

    return detected(NAME, SecretDetector(), samples(), options.secrets_repeats)


def detected(name: str, detector: Detector, made: Sequence[Sample], repeats: int) -> Report:
    """The results of a detector on a labelled set, and its cost."""

    def finds(text: str) -> bool:
        return any(detector.find([("content", text)]))

    finds(made[0].text)  # loads the rules
    rows = []
    for half in HALVES:
        part = [each for each in made if each.half == half]
        rows.append(Row(f"found, {half} half", "share", (_found(finds, part, True),), goal=RECALL))
        alarms = (_found(finds, part, False),)
        rows.append(Row(f"false alarms, {half} half", "share", alarms, goal=FALSE_ALARMS, at_most=True))
    looks = [each.text for each in made if not each.secret] * 5
    plain = tuple(_cost(finds, [PROSE * 2] * 2000) for _ in range(repeats))
    rows.append(Row("a memory in prose, 230 characters", "s", plain, goal=COST_S, at_most=True))
    rows.append(Row("a text with what looks like one", "s", tuple(_cost(finds, looks) for _ in range(repeats))))
    missed = sorted({each.kind for each in made if each.secret and not finds(each.text)})
    return Report(name, tuple(rows), (f"Kinds with one that was missed: {', '.join(missed) or 'none'}.",))


def _found(finds: Callable[[str], bool], part: Sequence[Sample], secret: bool) -> float:
    return statistics.fmean(finds(each.text) for each in part if each.secret is secret)


def _cost(finds: Callable[[str], bool], texts: Sequence[str]) -> float:
    before = time.process_time()
    for text in texts:
        finds(text)
    return (time.process_time() - before) / len(texts)
