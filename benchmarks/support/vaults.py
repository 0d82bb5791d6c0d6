"""Vaults of any size, the same for the same seed: arcs of about three kilobytes with agents' markers."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
DAYS = 30
_WORDS = (
    "ferry harbour beacon anchor pilot tide compass rudder hull cargo mooring signal chart crane dock lantern "
    "keel sail buoy current strait island"
).split()
_REGIONS = ("left-hemisphere", "left-hemisphere", "left-hemisphere", "right-hemisphere", "amygdala", "pineal")
_STATUSES = ("active", "complete", "complete", "stalled")


def make(root: Path, arcs: int, seed: int = 1) -> list[Path]:
    """Write the files of the arcs, spread over 30 days before `NOW`."""
    random = Random(seed)
    made = sorted((NOW - timedelta(hours=random.random() * DAYS * 24) for _ in range(arcs)), reverse=True)
    ids = [
        f"{created:%Y-%m-%d}-{'-'.join(random.sample(_WORDS, 3))}-{number:06x}" for number, created in enumerate(made)
    ]
    paths = []
    for number, (name, created) in enumerate(zip(ids, made, strict=True)):
        folder = root / "clusters" / f"{created:%Y-%m-%d}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.md"
        path.write_text("\n".join(_page(name, created, number, ids, random)), encoding="utf-8")
        os.utime(path, (created.timestamp(), created.timestamp()))
        paths.append(path)
    return paths


def _page(name: str, created: datetime, number: int, ids: list[str], random: Random) -> Iterator[str]:
    yield from ("---", f"cluster_id: {name}", f"title: {' '.join(random.sample(_WORDS, 4))}")
    yield from (f"region: {random.choice(_REGIONS)}", f"status: {random.choice(_STATUSES)}", "heat: 0")
    yield "source_sessions:"
    yield from (f"  - session-{number}-{session}" for session in range(random.choice((1, 1, 2, 4))))
    yield from (f"project: project-{number % 9}", f"created: {created.isoformat()}")
    counts = {"errors": random.randrange(9), "joy": random.choice((0, 0, 3)), "tools": random.randrange(2500)}
    yield f"signals: {{{', '.join(f'{name}: {count}' for name, count in counts.items())}}}"
    yield from ("edges: []", "synthesized: false", "---", "", f"# {name}", "", "## Timeline", "")
    for _ in range(20):
        yield f"- {' '.join(random.choices(_WORDS, k=14))}."
    yield from (
        "",
        "<!-- @lesson -->",
        f"Lesson {number}: look at the {random.choice(_WORDS)} first.",
        "<!-- @/lesson -->",
    )
    if number % 4 == 0:
        severity = random.choice(("info", "warning", "critical"))
        yield from (f"<!-- @signal severity={severity} source={random.choice(_WORDS)} -->", f"Signal {number} rises")
        yield "<!-- @/signal -->"
    if number % 10 == 0:
        yield from ("<!-- @inject target=claude.md -->", f"Mind the {random.choice(_WORDS)}.", "<!-- @/inject -->")
    yield from (f"<!-- @edge type=related target={random.choice(ids)} -->" for _ in range(3))
    yield ""
