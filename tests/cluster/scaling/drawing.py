"""Draws the observations of a burst. Needs matplotlib, which is not installed with the tests:

pip install matplotlib && python -m tests.cluster.scaling.drawing seen.json docs/operations/burst.svg
"""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

EVERY = 2
"""Draw one of so many observations."""
PANELS = (("waiting", "entries waiting or in hand"), ("replicas", "replicas"))


def draw(seen: Any, target: Path) -> None:
    """Draw two panels over the same time axis."""
    plt.rcParams["svg.fonttype"] = "none"
    figure, panels = plt.subplots(2, sharex=True, figsize=(9, 6), layout="constrained")
    for panel, (key, title) in zip(panels, PANELS, strict=True):
        for number, service in enumerate(seen["services"]):
            # Offset the lines, so that equal values do not hide each other.
            aside = 0.04 * (number - 2) if key == "replicas" else 0
            values = [each.get(service, 0) + aside for each in seen[key]]
            panel.step(seen["seconds"][::EVERY], values[::EVERY], where="post", label=service)
        panel.set_title(title, loc="left", fontsize="medium")
        panel.grid(alpha=0.3)
        panel.yaxis.set_major_formatter("{x:,.0f}")
        panel.yaxis.get_major_locator().set_params(integer=True)
    panels[0].legend(frameon=False)
    panels[1].set_xlabel("seconds since the burst began")
    figure.savefig(target, metadata={"Date": None, "Creator": None} if target.suffix == ".svg" else None)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    draw(json.loads(source.read_text(encoding="utf-8")), target)
