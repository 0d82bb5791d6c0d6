"""Personal data in new memories: detection rate, false alarms, and the cost of the check.

The labelled set is `benchmarks.support.labelled.personal_samples`: 300 texts with personal data, 300 with similar
values. The second half was looked at once, when the detector was finished.
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
    """Detection rate and false alarms of each half; then the cost of the check."""
    from openbrain.adapters.personal_data.detection import PersonalDataDetector

    return detected(NAME, PersonalDataDetector(), personal_samples(), options.personal_data_repeats)
