"""The long run: `python -m tests.faults.signals --raises 10000 --subscribers 1000`."""

import argparse
import asyncio
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from openbrain.observability import logs
from openbrain.settings import Logs
from tests.faults.processes.fleet import Zygote
from tests.faults.signals.halting import halting
from tests.faults.signals.plan import SERVED, plan
from tests.faults.signals.run import run
from tests.servers.catalogue import server


def main() -> int:
    """Return 0 if no seed has findings."""
    options = _parser().parse_args()
    logs.configure(Logs(level="ERROR"))
    bad = 0
    zygote = Zygote()
    try:
        with tempfile.TemporaryDirectory(prefix="openbrain-faults-") as folder:
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                bad += _seed(seed, options, zygote, Path(folder) / f"{seed}")
            if options.subscribers:
                with server("redis") as streams:
                    halted = asyncio.run(halting(zygote, streams, Path(folder) / "halt", agents=options.subscribers))
                _say(halted.line())
                bad += bool(halted.findings)
    finally:
        zygote.close()
    return 1 if bad else 0


def _seed(seed: int, options: argparse.Namespace, zygote: Zygote, place: Path) -> bool:
    """Run one seed; True if there are findings."""
    made = plan(seed, options.raises, kinds=SERVED if options.served else (), faults=options.faults)
    with ExitStack() as stack:
        streams = stack.enter_context(server(made.streams))
        database = stack.enter_context(server("mariadb")) if options.served else None
        verdict = asyncio.run(run(made, zygote, streams, place, agents=options.agents, database=database))
    _say(verdict.line())
    return bool(verdict.findings)


def _say(words: str) -> None:
    print(words, flush=True)  # noqa: T201 - a long run tells how it goes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.signals", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--raises", type=int, default=10_000, help="of each seed")
    parser.add_argument("--faults", type=int, default=8, help="of each seed")
    parser.add_argument("--served", action="store_true", help="services as processes, two of each, with every fault")
    parser.add_argument("--agents", type=int, default=20, help="that listen in each seed")
    parser.add_argument("--subscribers", type=int, default=1000, help="that are halted at the end; 0: none")
    return parser


if __name__ == "__main__":
    sys.exit(main())
