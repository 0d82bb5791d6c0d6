"""From transcripts to arcs, file by file: our sample, and the original's if it lies beside this checkout.

`renew` rewrites the golden files; read the diff before you keep it.
"""

import json
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from openbrain.domain.errors import NotFound
from openbrain.domain.times import from_datetime
from openbrain.vault.markers.session_marks import Harvest, harvest
from openbrain.vault.markers.transcripts import lines, records
from openbrain.vault.pages.index import Scan
from openbrain.vault.thresholds import Thresholds
from openbrain_tick.observe.transcripts import extracted
from openbrain_tick.plan.arcs.cluster import cluster
from openbrain_tick.plan.deterministic import publish, tidy
from openbrain_tick.plan.extract import Bundle, Filter, read_bundle, window
from openbrain_tick.plan.plan import begin

OURS = Path(__file__).parents[3] / "samples" / "vault"
THEIRS = Path(__file__).parents[5] / "shared" / "compat" / "sample"
NOW = datetime(2026, 3, 2, 20, 0, tzinfo=UTC)


def bundle_of(projects: Path, now: datetime, folder: Path) -> Bundle:
    """Extract the sample as if its transcripts were just written."""
    copied = shutil.copytree(projects, folder / "projects", copy_function=shutil.copyfile)
    return extracted(copied, window("24h", "", now), Filter(), lambda path: pytest.fail(str(path)))


def arcs_of(bundle: Bundle, now: datetime, *, tick: bool = False) -> dict[str, str]:
    """Map path to page in an empty vault, after the cluster phase alone or a whole tick."""

    def nothing(path: str) -> str:
        raise NotFound(path)

    plan = begin(Scan({}), nothing, from_datetime(now), Thresholds())
    cluster(plan, bundle.sessions)
    if tick:
        tidy(plan, {})
        publish(plan, {}, None)
    return {change.path: (change.after or b"").decode() for change in plan.changes()}


def harvested(projects: Path) -> dict[str, Harvest]:
    return {path.stem: harvest(path.stem, records(lines(path))) for path in sorted(projects.glob("*/*.jsonl"))}


def golden(folder: Path) -> Mapping[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in sorted((folder / "clusters").glob("*/2*.md"))
    }


def as_text(bundle: Bundle) -> str:
    return json.dumps(json.loads(bundle.model_dump_json()), indent=2, ensure_ascii=False) + "\n"


def told(found: Mapping[str, Harvest]) -> str:
    rows = {
        name: [[each.type, each.content, dict(each.attrs), each.key] for each in harvest.markers]
        for name, harvest in found.items()
    }
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def renew(folder: Path, scratch: Path) -> None:
    """Write the golden files."""
    bundle = bundle_of(folder / "projects", NOW, scratch)
    (folder / "bundle.json").write_text(as_text(bundle), encoding="utf-8")
    (folder / "harvest.json").write_text(told(harvested(folder / "projects")), encoding="utf-8")
    ticked = {f"ticked/{path}": text for path, text in arcs_of(bundle, NOW, tick=True).items()}
    for path, text in (arcs_of(bundle, NOW) | ticked).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def test_our_transcripts_give_our_bundle(tmp_path: Path) -> None:
    assert as_text(bundle_of(OURS / "projects", NOW, tmp_path)) == (OURS / "bundle.json").read_text(encoding="utf-8")


def test_our_bundle_gives_our_arcs() -> None:
    assert arcs_of(read_bundle((OURS / "bundle.json").read_bytes()), NOW) == golden(OURS)


def test_a_tick_over_our_bundle_gives_our_vault_and_feed() -> None:
    root = OURS / "ticked"
    expected = {str(path.relative_to(root)): path.read_text("utf-8") for path in root.rglob("*") if path.is_file()}

    assert arcs_of(read_bundle((OURS / "bundle.json").read_bytes()), NOW, tick=True) == expected


def test_our_transcripts_give_our_harvest() -> None:
    assert told(harvested(OURS / "projects")) == (OURS / "harvest.json").read_text(encoding="utf-8")


theirs = pytest.mark.skipif(not THEIRS.is_dir(), reason="the original's sample is not beside this checkout")

DIFFERENT = {
    # They name a pass and a gateway that we do not have.
    "<!-- synthesized: false — filled by kb_brief LLM pass via inference-gateway -->": "<!-- synthesized: false -->",
    "<!-- synthesized -->": "<!-- synthesized: false -->",
}
"""Lines of the original's arcs that differ in ours on purpose. Our cluster phase also writes no _dashboard.md: the
keeper's, with other columns, would overwrite it at the next tick."""


@theirs
def test_the_originals_transcripts_give_the_originals_bundle(tmp_path: Path) -> None:
    expected = json.loads((THEIRS / "bundle.json").read_bytes())
    mine = json.loads(
        as_text(bundle_of(THEIRS / "projects", datetime.fromisoformat(expected["window"]["until"]), tmp_path))
    )

    # The original reads its clock twice.
    expected["window"]["since"] = mine["window"]["since"]
    assert mine == expected


@theirs
@pytest.mark.parametrize("path", golden(THEIRS / "vault") if THEIRS.is_dir() else [])
def test_the_originals_bundle_gives_the_originals_arcs_but_for_the_lines_named_here(path: str) -> None:
    expected = golden(THEIRS / "vault")[path].splitlines()
    created = next(line for line in expected if line.startswith("created: "))
    now = datetime.fromisoformat(created.removeprefix("created: "))

    made = arcs_of(read_bundle((THEIRS / "bundle.json").read_bytes()), now)

    assert made[path].splitlines() == [DIFFERENT.get(line, line) for line in expected]
