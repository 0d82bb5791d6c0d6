"""`python -m tests.mutation`: break product code at seeded places, and see which tests notice."""

import sys

from tests.mutation.run import main

if __name__ == "__main__":
    sys.exit(main())
