"""The command `openbrain`."""

import os
import sys


def start() -> None:
    """A hook of a client, answered before anything else is imported; or any other command."""
    if sys.argv[1:2] == ["hook"]:
        from openbrain_cli.agents.hooks.command import run

        sys.exit(run(sys.argv[2:]))
    # Read when numpy is imported. Its products are small here: threads wait for each other longer than they compute.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from openbrain_cli.main import main

    main()
