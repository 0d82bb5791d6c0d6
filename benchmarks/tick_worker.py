"""One vault and its ticks, in a process of its own: python -m benchmarks.tick_worker FOLDER ARCS REPEATS.

Prints CPU seconds.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.memory import peak_mb
from benchmarks.vaults import NOW, make
from openbrain.domain.times import from_datetime
from openbrain.vault.folder import Folder
from openbrain.vault.pages import journal
from openbrain.vault.pages.index import Index
from openbrain.vault.thresholds import SPEC
from openbrain_tick.plan.deterministic import publish, tidy
from openbrain_tick.plan.plan import begin

CHANGED = 20
_NOW_US = from_datetime(NOW)


def tick(folder: Folder, index: Index) -> int:
    """The deterministic part, written; how many files changed."""
    plan = begin(index.scan(folder), folder.read, _NOW_US, SPEC)
    tidy(plan, {})
    publish(plan, {}, None)
    changes = plan.changes()
    journal.apply(folder, changes)
    pages = plan.pages
    index.written(folder, [(pages[each.path], each.after) for each in changes if each.after and each.path in pages])
    return len(changes)


def bare(root: str) -> int:
    """What no tick can do without: every file's time and size."""
    files = 0
    with os.scandir(root) as found:
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                files += bare(entry.path)
            else:
                entry.stat(follow_symlinks=False)
                files += 1
    return files


def cpu(what: Callable[[], object]) -> float:
    """Seconds of this process, kernel included."""
    began = time.process_time()
    what()
    return time.process_time() - began


def main(base: Path, arcs: int, repeats: int) -> dict[str, object]:
    """Every figure once a repeat, the sides of a ratio one after the other."""
    root, state = base / "vault", base / "state.jsonl"
    root.mkdir()
    make(root, arcs)
    folder, index = Folder(root), Index(state)
    plain = peak_mb()
    first = cpu(lambda: tick(folder, index))
    # Whatever changed within the last moment is read once more; then all has settled.
    time.sleep(0.1)
    tick(folder, index)
    figures: dict[str, list[float]] = {"bare": [], "unchanged": [], "started": [], "changed": []}
    pages = [path for path in sorted(root.rglob("2026-*.md")) if "frontal-lobe" not in path.parts]
    for repeat in range(repeats):
        figures["bare"].append(cpu(lambda: bare(str(root))))
        figures["unchanged"].append(cpu(lambda: tick(folder, index)))
        figures["started"].append(cpu(lambda: tick(folder, Index(state))))
        for path in pages[repeat * CHANGED : (repeat + 1) * CHANGED]:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"\n<!-- @lesson -->\nChanged {repeat}.\n<!-- @/lesson -->\n")
        figures["changed"].append(cpu(lambda: tick(folder, index)))
        time.sleep(0.1)
        tick(folder, index)
    return {"first": [first], **figures, "peak_mb": [peak_mb()], "plain_mb": [plain]}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
