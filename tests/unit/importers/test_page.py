"""docs/reference/importers.md says what the code does."""

from pathlib import Path

from openbrain_cli.importers.locations.scanning import Client
from openbrain_cli.importers.records.mapping import FIELDS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "importers.md").read_text(encoding="utf-8")


def rows_below(heading: str) -> dict[str, list[str]]:
    part = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:3] == "| `"]
    return {cells[0].strip("`"): cells[1:] for cells in rows}


def test_every_kind_has_its_row() -> None:
    assert set(rows_below("Kinds")) == set(Client) - {Client.AUTO} | {"--from"}


def test_every_field_has_its_names() -> None:
    assert {name: cells[0].split(", ") for name, cells in rows_below("Records").items()} == {
        name: list(names) for name, names in FIELDS.items()
    }
