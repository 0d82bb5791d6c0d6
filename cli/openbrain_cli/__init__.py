"""The command `openbrain`."""

import os
import sys


def start() -> None:
    """Answer a client's hook without importing anything else; otherwise run the command-line program."""
    if sys.argv[1:2] == ["hook"]:
        from openbrain_cli.agents.hooks.command import run

        sys.exit(run(sys.argv[2:]))
    # numpy reads this on import. Our matrix products are small: several threads would mostly wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from openbrain.observability.gc_tuning import collect_rarely

    collect_rarely()
    from openbrain_cli.main import main

    main()
