"""Run the benchmarks: python -m benchmarks.run [--only NAME] [--json FILE] [benchmark options].

Each module named in MODULES is one benchmark with `NAME`, `add_options(parser)` and `run(options) -> Report`.
"""

import argparse
import importlib
import os
import sys
from pathlib import Path

from benchmarks.support.report import Report, save, show

MODULES = (
    "writes.streams",
    "writes.reliability",
    "writes.remember",
    "writes.pipeline",
    "indexes.embedding",
    "questions.recall",
    "questions.recall_batch",
    "questions.discovery",
    "writes.transfer",
    "writes.secrets",
    "writes.personal_data",
    "indexes.reconcile",
    "indexes.verify",
    "indexes.reindex",
    "signals",
    "questions.retrieval",
    "questions.abstention",
    "questions.cranfield",
    "questions.names",
    "questions.standing",
    "questions.thoughts",
    "questions.sets",
    "agents.context",
    "agents.mcp_calls",
    "lifecycle.duplicates",
    "lifecycle.tripled",
    "lifecycle.lifecycle",
    "synthetic.growth",
    "synthetic.drills",
    "tick",
    "agents.tools_start",
    "agents.hook_start",
)


def main() -> int:
    """Exit code 1 when a goal was missed."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the command `openbrain`; workers inherit it
    benchmarks = {name.rpartition(".")[2]: importlib.import_module(f"benchmarks.{name}") for name in MODULES}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--only", choices=sorted(benchmarks), help="run only this benchmark")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    for module in benchmarks.values():
        module.add_options(parser)
    options = parser.parse_args()
    reports: list[Report] = []
    for name, module in benchmarks.items():
        if options.only in {None, name}:
            reports.append(module.run(options))
            show(reports[-1])
    if options.json:
        save(reports, options.json)
    return int(any(row.met is False for report in reports for row in report.rows))


if __name__ == "__main__":
    sys.exit(main())
