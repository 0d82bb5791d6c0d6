"""Run tests in a copy of the tree, and note for each line of the product which tests run it."""

import argparse
import shutil
import sys
from pathlib import Path

from coverage import Coverage

from tests.mutation import measuring
from tests.mutation.copies import PACKAGES, copied

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Return pytest's exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.measure", description=__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT, help="another checkout")
    parser.add_argument("--to", type=Path, default=Path(".coverage"), help="where the data goes")
    parser.add_argument("--durations", type=Path, default=Path(".coverage.xml"), help="and the seconds of each test")
    parser.add_argument("words", nargs="*", help="for pytest, after --")
    options = parser.parse_args()
    with copied(options.tree.resolve()) as copy:
        for folder in ("data", "now"):
            (copy.base / folder).mkdir()
        shutil.copy(Path(__file__).with_name("coverage.toml"), copy.base)
        packages = copy.tree / ".venv" / PACKAGES
        shutil.copy(measuring.__file__, packages / "mutation_measuring.py")
        (packages / "zz_mutation.pth").write_text("import mutation_measuring; mutation_measuring.start()\n")
        junit = f"--junitxml={options.durations.resolve()}"
        code, _ = copy.pytest(["-p", "mutation_measuring", junit, *options.words], shown=True)
        combined = Coverage(data_file=str(options.to.resolve()), config_file=False)
        combined.set_option("paths", {"tree": [str(options.tree.resolve()), str(copy.tree)]})
        combined.combine([str(each) for each in (copy.base / "data").iterdir()])
        combined.save()
    return code or 0


if __name__ == "__main__":
    sys.exit(main())
