"""Every service has the same parts, so that who knows one finds the way in all."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVICES = sorted(path.parent for path in (ROOT / "services").glob("*/openbrain_*") if path.is_dir())
ANSWERED = ("**In:**", "**Out:**", "**Scales**", "Metrics:", "Logs:")
"""The parts of a page about a service."""
MAX_README_LINES = 25
REFERENCE = "".join((ROOT / "docs/reference" / page).read_text(encoding="utf-8") for page in ("metrics.md", "logs.md"))


def test_there_are_services() -> None:
    names = {path.name for path in SERVICES}

    assert names == {"ingest", "embedder", "indexer", "matcher", "tick", "amygdala", "housekeeper", "api", "mcp"}


@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.name)
def test_a_service_is_wired_in_app_and_works_in_handlers(service: Path) -> None:
    package = service / f"openbrain_{service.name}"
    handlers = package / ("tools" if service.name == "mcp" else "handlers")

    assert (package / "app.py").is_file()
    assert [path for path in handlers.glob("*.py") if path.name != "__init__.py"], f"{handlers} holds the work"


@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.name)
def test_a_page_says_what_comes_in_what_goes_out_and_what_to_look_at(service: Path) -> None:
    text = (service / "README.md").read_text(encoding="utf-8")

    assert [each for each in ANSWERED if each not in text] == []
    assert len(text.splitlines()) <= MAX_README_LINES


@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.name)
def test_a_page_names_metrics_and_events_that_there_are(service: Path) -> None:
    text = (service / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`(openbrain_[a-z_]+|[a-z]+\.[a-z]+_[a-z_]+)`", text[text.index("Metrics:") :])

    assert named
    assert [name for name in named if f"`{name}`" not in REFERENCE] == []
