"""Entry point of `python -m tests.faults`: the long run."""

import sys

from tests.faults.long_run import main

if __name__ == "__main__":
    sys.exit(main())
