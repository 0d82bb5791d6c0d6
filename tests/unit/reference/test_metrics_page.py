"""docs/reference/metrics.md names every metric of ours, with its kind, labels and meaning."""

from pathlib import Path
from typing import Any

from prometheus_client.metrics import MetricWrapperBase

from openbrain.observability import metrics as telemetry

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")


def row(metric: Any) -> str:
    kind = metric._type
    name = metric._name + ("_total" if kind == "counter" else "")
    labels = ", ".join(f"`{label}`" for label in metric._labelnames)
    return f"| `{name}` | {kind} | {labels} | {metric._documentation} |".replace("|  |", "| |")


def test_the_page_and_the_code_name_the_same_metrics() -> None:
    metrics = [each for each in vars(telemetry).values() if isinstance(each, MetricWrapperBase)]

    assert [line for line in PAGE.splitlines() if line.startswith("| `")] == sorted(row(each) for each in metrics)


def test_labels_are_names_that_no_caller_chooses() -> None:
    metrics = [each for each in vars(telemetry).values() if isinstance(each, MetricWrapperBase)]
    labels = {label for each in metrics for label in each._labelnames}

    assert labels == {
        *("stream", "group", "outcome", "method", "route", "status", "index", "fault", "severity", "step"),
        # From the settings: the workspaces that have a vault.
        *("source", "phase", "workspace"),
    }
