"""Alert rules as Prometheus evaluates them: each fires when it should, and uses metrics that exist."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from openbrain.observability.metrics import REGISTRY
from openbrain.settings import Settings
from openbrain_cli.main import COMMANDS
from tests.deploy.scripts import ROOT
from tests.servers.plugin import need

MONITORING = ROOT / "deploy" / "k8s" / "components" / "monitoring"
RULES: Any = yaml.safe_load((MONITORING / "alerts.yaml").read_text(encoding="utf-8"))["spec"]
ALERTS = {rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"]}
DASHBOARD: Any = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
SETTINGS = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
RECIPES = (ROOT / "docs" / "operations" / "alerts.md").read_text(encoding="utf-8")

FRESH = """
import openbrain_amygdala.app, openbrain_api.app, openbrain_housekeeper.app, openbrain_matcher.app
from openbrain.observability.metrics import REGISTRY
from prometheus_client import generate_latest
print(generate_latest(REGISTRY).decode())
"""
ENTRY = '{stream="memory.stored", group="embedder"}'


@dataclass(frozen=True)
class Case:
    """Series that make an alert fire within the time, and series that keep it silent."""

    firing: Sequence[tuple[str, str]]
    silent: Sequence[tuple[str, str]]
    minutes: int = 60


def gauge(name: str, high: object, low: object, minutes: int = 60) -> Case:
    return Case([(name, f"{high}x400")], [(name, f"{low}x400")], minutes)


CASES = {
    "OpenBrainServiceDown": gauge('up{job="openbrain/openbrain", pod="api-1"}', 0, 1),
    "OpenBrainWritesRefused": gauge("openbrain_backlog_full", 1, 0),
    "OpenBrainOutboxOld": gauge("openbrain_outbox_oldest_seconds", 61, 59),
    "OpenBrainReaderStopped": gauge(f"openbrain_stream_stopped{ENTRY}", 1, 0),
    "OpenBrainDependencyDown": gauge('openbrain_stream_breaker_open{group="embedder"}', 1, 0),
    "OpenBrainLag": gauge(f"openbrain_stream_oldest_undelivered_seconds{ENTRY}", 301, 299),
    "OpenBrainRetriesOld": gauge(f"openbrain_stream_oldest_pending_seconds{ENTRY}", 901, 899),
    "OpenBrainDeadLetters": gauge(f"openbrain_stream_dead_letters{ENTRY}", 1, 0),
    "OpenBrainDeadLettersFull": gauge(f"openbrain_stream_dead_letters_filled{ENTRY}", 0.81, 0.79),
    "OpenBrainStreamMemory": gauge("openbrain_stream_memory_share", 0.71, 0.69),
    "OpenBrainIndexDiffers": gauge(
        'openbrain_reconcile_differences_total{index="text", fault="missing"}', "0+1", "5+0"
    ),
    # Prometheus' time begins at 0 in these tests.
    "OpenBrainNotCompared": gauge("openbrain_reconcile_completed_timestamp_seconds", 60, "60+60", 300),
    "OpenBrainErrors": Case(
        [
            ('openbrain_api_requests_total{status="500"}', "0+2x400"),
            ('openbrain_api_requests_total{status="200"}', "0+98x400"),
        ],
        [
            ('openbrain_api_requests_total{status="500"}', "0+1x400"),
            ('openbrain_api_requests_total{status="404"}', "0+199x400"),
        ],
    ),
    "OpenBrainRecallSlow": Case(
        [
            ('openbrain_api_request_seconds_bucket{route="/v1/brain/recall", le="1"}', "0+90x400"),
            ('openbrain_api_request_seconds_bucket{route="/v1/brain/recall", le="2.5"}', "0+100x400"),
            ('openbrain_api_request_seconds_bucket{route="/v1/brain/recall", le="+Inf"}', "0+100x400"),
        ],
        [
            ('openbrain_api_request_seconds_bucket{route="/v1/brain/recall", le="1"}', "0+100x400"),
            ('openbrain_api_request_seconds_bucket{route="/v1/brain/recall", le="2.5"}', "0+100x400"),
            ('openbrain_api_request_seconds_bucket{route="/v1/brain/recall", le="+Inf"}', "0+100x400"),
        ],
    ),
    "OpenBrainRecallDegraded": gauge('openbrain_recall_degraded_total{index="vectors"}', "0+1", "3+0"),
    "OpenBrainIndexingSlow": Case(
        [
            ('openbrain_indexed_seconds_bucket{index="text", le="15"}', "0+50x400"),
            ('openbrain_indexed_seconds_bucket{index="text", le="60"}', "0+100x400"),
            ('openbrain_indexed_seconds_bucket{index="text", le="+Inf"}', "0+100x400"),
        ],
        [
            ('openbrain_indexed_seconds_bucket{index="text", le="15"}', "0+100x400"),
            ('openbrain_indexed_seconds_bucket{index="text", le="60"}', "0+100x400"),
            ('openbrain_indexed_seconds_bucket{index="text", le="+Inf"}', "0+100x400"),
        ],
    ),
    "OpenBrainTickLate": gauge('openbrain_tick_completed_timestamp_seconds{workspace="w"}', 60, "60+60", 310),
    "OpenBrainSignalUnheard": gauge('openbrain_signals_unacknowledged{workspace="w"}', 1, 0),
    "OpenBrainWebhooksDead": gauge('openbrain_webhook_posts_total{outcome="dead"}', "0+1", "2+0"),
}

NEVER = {
    alert: [
        Case([(name, "0x400")], [(name, f"_x{minutes - 20} 0+0x400")], minutes),
        # Replaced after its first minute: the new process has not done it.
        Case([(name, "60 0+0x400")], [(name, f"60+0x{minutes - 20} 0+0x400")], minutes + 2),
    ]
    for alert, name, minutes in (
        ("OpenBrainNotCompared", "openbrain_reconcile_completed_timestamp_seconds", 250),
        ("OpenBrainTickLate", 'openbrain_tick_completed_timestamp_seconds{workspace="w"}', 310),
    )
}
"""Series of processes that have never completed a comparison or a tick: the alert fires after the rule's hours."""


def _series(given: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Expand `1x400`, one value and four hundred repetitions, to `1+0x400`, the only form that promtool accepts."""
    return [
        {"series": name, "values": values if "+" in values else values.replace("x", "+0x")} for name, values in given
    ]


@pytest.mark.servers("promtool")
def test_each_alert_fires_when_it_should_and_is_silent_else(tmp_path: Path) -> None:
    need("promtool")
    assert CASES.keys() == ALERTS.keys()
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(RULES))
    tests = []
    for alert, case in [*CASES.items(), *((alert, case) for alert, cases in NEVER.items() for case in cases)]:
        for given, fires in ((case.firing, True), (case.silent, False)):
            # Only whether it fires is compared, not the labels of the alert.
            count = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}})'
            tests.append(
                {
                    "interval": "1m",
                    "input_series": _series(given),
                    "promql_expr_test": [
                        {
                            "expr": count,
                            "eval_time": f"{case.minutes}m",
                            "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
                        }
                    ],
                }
            )
    file = tmp_path / "tests.yml"
    file.write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def scraped() -> set[str]:
    """Return the names of the series that a service serves to a scrape."""
    names = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", generate_latest(REGISTRY).decode(), re.MULTILINE):
        names |= {name, *((f"{name}{end}" for end in ("_bucket", "_sum", "_count")) if kind == "histogram" else ())}
    return names


def asked(expression: str) -> set[str]:
    return set(re.findall(r"openbrain_\w+", expression))


def test_every_metric_of_alerts_and_dashboard_is_in_a_scrape() -> None:
    expressions = [rule["expr"] for rule in ALERTS.values()]
    expressions += [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    wanted = set().union(*(asked(each) for each in expressions))
    assert wanted - scraped() == set()
    assert asked("rate(openbrain_stream_lagg[5m])") - scraped() == {"openbrain_stream_lagg"}


def test_the_rules_fit_the_settings_that_they_mirror() -> None:
    settings, rules = Settings(), {alert: rule["expr"] for alert, rule in ALERTS.items()}
    assert (settings.housekeeping.verify_every_s, "> 4 * 3600" in rules["OpenBrainNotCompared"]) == (3600, True)
    assert (settings.tick.schedule, "> 5 * 3600" in rules["OpenBrainTickLate"]) == ("7 */2 * * *", True)
    assert (settings.streams.memory_share, rules["OpenBrainStreamMemory"].endswith("> 0.7")) == (0.85, True)
    retried = sum(settings.streams.backoff_s) + settings.streams.lease_s
    assert int(rules["OpenBrainRetriesOld"].rpartition("> ")[2]) >= 2 * retried
    named = set(re.findall(r"^\| `(OPENBRAIN_\w+)`", RECIPES, re.MULTILINE))
    assert len(named) == 4
    assert named <= set(re.findall(r"OPENBRAIN_\w+", SETTINGS))


def test_no_gauge_is_summed() -> None:
    """Every replica of a service reads the same gauges from Redis or the database: their sum is a multiple."""
    gauges = set(re.findall(r"^# TYPE (openbrain_\w+) gauge$", generate_latest(REGISTRY).decode(), re.MULTILINE))
    expressions = [rule["expr"] for rule in ALERTS.values()]
    expressions += [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    assert gauges & set().union(*(asked(each) for each in expressions))
    assert [each for each in expressions if gauges & asked(each) and re.search(r"\b(?:sum|count)\b", each)] == []


def test_counters_that_alerts_ask_the_increase_of_begin_at_zero() -> None:
    """Otherwise the first event is no increase, and the alert of a rare event never fires."""
    fresh = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True).stdout
    begun = dict(re.findall(r"^(openbrain_\w+)\{.*\} (\S+)$", fresh, re.MULTILINE))
    rare = set()
    for rule in ALERTS.values():
        rare |= set(re.findall(r"(?:increase|rate)\((openbrain_(?!api_)\w+_total)", rule["expr"]))
    assert len(rare) == 3
    assert {name: begun.get(name) for name in rare} == dict.fromkeys(rare, "0.0")


def test_panels_do_not_cover_each_other() -> None:
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]}
    assert len(places) == len(DASHBOARD["panels"]) == len({panel["id"] for panel in DASHBOARD["panels"]})


def test_each_alert_has_a_recipe_with_commands_that_exist() -> None:
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", RECIPES, re.MULTILINE | re.DOTALL))
    assert list(sections) == list(ALERTS)
    for alert, text in sections.items():
        commands = re.findall(r"^openbrain ([a-z][a-z-]*)", "\n".join(re.findall(r"`([^`]+)`", text)), re.MULTILINE)
        assert commands or "kubectl" in text, alert
        assert set(commands) <= set(COMMANDS), alert
