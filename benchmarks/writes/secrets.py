"""Secrets in what is to be stored: how many are found, what else is taken for one, and what looking costs.

The labelled set is `benchmarks.support.secret_samples`: 300 texts with a secret, 300 with what looks like one, half of
it laid down before the detector was chosen.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

from benchmarks.support.report import Report, Row
from benchmarks.support.secret_samples import HALVES, Sample, samples

NAME = "secrets"
RECALL, FALSE_ALARMS = 0.97, 0.02
COST_S = 20e-6
"""Of an ordinary memory: a 26th of what a memory may cost at 1,900 a second."""
PROSE = (
    "Deploys of the shop are on Tuesdays at nine, after the tests of the night; who deploys says so in the channel. "
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """How often."""
    parser.add_argument("--secrets-repeats", type=int, default=7)


def run(options: argparse.Namespace) -> Report:
    """Found and taken for one, by half; then what the look costs."""
    from openbrain.adapters.local.secret_policy import SecretPolicy

    policy = SecretPolicy()

    def admit(text: str) -> str:
        return policy.admit([("content", text)])[0]

    admit(samples()[0].text)  # loads the rules
    rows = []
    for half in HALVES:
        part = [each for each in samples() if each.half == half]
        rows.append(Row(f"secrets found, {half} half", "share", (_masked(admit, part, True),), goal=RECALL))
        alarms = (_masked(admit, part, False),)
        rows.append(Row(f"false alarms, {half} half", "share", alarms, goal=FALSE_ALARMS, at_most=True))
    prose = [PROSE * 2] * 2000
    looks = [each.text for each in samples() if not each.secret] * 5
    repeats = range(options.secrets_repeats)
    plain = tuple(_cost(admit, prose) for _ in repeats)
    rows.append(Row("a memory in prose, 230 characters", "s", plain, goal=COST_S, at_most=True))
    rows.append(Row("a text with what looks like a secret", "s", tuple(_cost(admit, looks) for _ in repeats)))
    missed = sorted({each.kind for each in samples() if each.secret and admit(each.text) == each.text})
    return Report(NAME, tuple(rows), (f"Kinds with one that was missed: {', '.join(missed) or 'none'}.",))


def _masked(admit: Callable[[str], str], part: Sequence[Sample], secret: bool) -> float:
    return statistics.fmean(admit(each.text) != each.text for each in part if each.secret is secret)


def _cost(admit: Callable[[str], str], texts: Sequence[str]) -> float:
    before = time.process_time()
    for text in texts:
        admit(text)
    return (time.process_time() - before) / len(texts)
