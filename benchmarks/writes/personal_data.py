"""Personal data in what is to be stored: how much is found, what else is taken for it, and what looking costs.

The labelled set is `benchmarks.support.labelled.personal_samples`: 300 texts with some, 300 with what looks like it.
The second half was looked at once, when the detector was done.
"""

import argparse

from benchmarks.support.labelled.personal_samples import personal_samples
from benchmarks.support.report import Report
from benchmarks.writes.secrets import detected

NAME = "personal_data"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Repeats."""
    parser.add_argument("--personal-data-repeats", type=int, default=7)


def run(options: argparse.Namespace) -> Report:
    """Found and taken for some, by half; then what the look costs."""
    from openbrain.adapters.personal_data.detection import PersonalDataDetector

    return detected(NAME, PersonalDataDetector(), personal_samples(), options.personal_data_repeats)
