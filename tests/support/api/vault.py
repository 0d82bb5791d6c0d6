"""A brain whose workspace w1 has a vault, for tests over HTTP."""

import dataclasses
from pathlib import Path
from typing import Any

import httpx
import pytest

from openbrain.vault.front_matter.document import read
from openbrain.vault.markers.markers import parse
from tests.support.api.brain import Brain, http
from tests.support.processes.settings import changed

LESSON = {"type": "lesson", "content": "Look at the logs first.", "attrs": {"source": "shop", "session_id": "s-1"}}


def page(page_id: str, title: str, priority: int, severity: str, body: str) -> str:
    head = f"id: {page_id}\ntitle: {title}\npriority: {priority}\nttl: 3600\nseverity: {severity}"
    return f"---\n{head}\n---\n\n{body}\n"


FEED = {
    "hot-arcs.md": page("hot-arcs-2026-11-21", "Active Hot Arcs", 10, "info", "| Arc | Heat |"),
    "inject.md": page("inject", "Brain Inject", 9, "info", "**[all]** x"),
    "signals.md": page("signals", "Active Signals", 8, "warning", "- burns"),
    "README.md": "no front matter\n",
    "broken.md": "---\na: [\n---\nbody\n",
    "odd.md": "---\npriority: high\n---\nbody\n",
    "empty.md": "---\nid: empty\n---\n\n",
    "amygdala-active.md": page("amygdala-active", "AMYGDALA ALERT", 100, "critical", "alarm"),
    "health.jsonl": "{}\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    (root / "brain-feed").mkdir(parents=True)
    for name, text in FEED.items():
        (root / "brain-feed" / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def kept(brain: Brain, vault: Path) -> Brain:
    """Return a brain whose workspace w1 has this vault."""
    vaults = changed(brain.settings.vaults, folders={"w1": vault}, wait_s=0.2)
    return dataclasses.replace(brain, settings=brain.settings.model_copy(update={"vaults": vaults}))


async def client(brain: Brain, workspace: str = "w1", **limits: Any) -> httpx.AsyncClient:
    return http(brain.app(), await brain.key(workspace, **limits))


def marks(vault: Path, path: str) -> list[tuple[str, dict[str, str], str]]:
    page = read((vault / path).read_text(encoding="utf-8"), path)
    found = parse(page.body, path, page.body_line)
    assert (page.problems, found.problems) == ((), ())
    return [(mark.type, dict(mark.attrs), mark.content) for mark in found.markers]
