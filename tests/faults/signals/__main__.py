"""The long run: `python -m tests.faults.signals --raises 10000 --subscribers 1000`."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from openbrain import logs
from openbrain.settings import Logs
from tests.faults.fleet import Zygote
from tests.faults.signals.halting import halting
from tests.faults.signals.plan import plan
from tests.faults.signals.run import run
from tests.servers.catalogue import server


def main() -> int:
    """0 where nothing was found."""
    options = _parser().parse_args()
    logs.configure(Logs(level="ERROR"))
    bad = 0
    zygote = Zygote()
    try:
        with tempfile.TemporaryDirectory(prefix="openbrain-faults-") as folder:
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                made = plan(seed, options.raises, faults=options.faults)
                with server(made.streams) as streams:
                    place = Path(folder) / f"{seed}"
                    verdict = asyncio.run(run(made, zygote, streams, place, agents=options.agents))
                _say(verdict.line())
                bad += bool(verdict.findings)
            if options.subscribers:
                with server("redis") as streams:
                    halted = asyncio.run(halting(zygote, streams, Path(folder) / "halt", agents=options.subscribers))
                _say(halted.line())
                bad += bool(halted.findings)
    finally:
        zygote.close()
    return 1 if bad else 0


def _say(words: str) -> None:
    print(words, flush=True)  # noqa: T201 - a long run tells how it goes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.signals", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--raises", type=int, default=10_000, help="of each seed")
    parser.add_argument("--faults", type=int, default=8, help="of each seed")
    parser.add_argument("--agents", type=int, default=20, help="that listen in each seed")
    parser.add_argument("--subscribers", type=int, default=1000, help="that are halted at the end; 0: none")
    return parser


if __name__ == "__main__":
    sys.exit(main())
