"""The alert rules in a real Prometheus that scrapes the metrics of OpenBrain; only their durations are shortened."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.deploy.scripts import ROOT
from tests.deploy.test_alerts import ALERTS, RULES
from tests.servers.places import free_port, program
from tests.servers.plugin import need
from tests.support.waiting import until

SCRAPE_MS = 100
UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000}
PENDING_SHARE = 1 / 1_000
"""Scale of the time that a condition must hold before the alert fires: 30 minutes become 1.8 s."""
WINDOW_SHARE = 1 / 150
"""Scale of the window that a rule looks back on: 5 minutes become 2 s, twenty scrapes."""
ROUNDS = 25
"""Scrapes while all is well: they take longer than the longest pending time."""


def shorter(rules: Any) -> Any:
    """Copy the rules with every duration scaled down."""

    def scaled(duration: str, share: float) -> str:
        count, unit = re.fullmatch(r"(\d+)([smh])", duration).groups()  # type: ignore[union-attr]
        return f"{max(1, round(int(count) * UNITS_MS[unit] * share))}ms"

    groups = []
    for group in rules["groups"]:
        of_group = []
        for rule in group["rules"]:
            expression = re.sub(r"\[(\w+)\]", lambda found: f"[{scaled(found[1], WINDOW_SHARE)}]", rule["expr"])
            pending = {"for": scaled(rule["for"], PENDING_SHARE)} if "for" in rule else {}
            of_group.append({**rule, "expr": expression, **pending})
        groups.append({**group, "rules": of_group})
    return {"groups": groups}


@contextmanager
def watched(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Start a process with our metrics and a Prometheus that scrapes it; yield the process and the Prometheus
    address."""
    ports = [free_port() for _ in range(3)]
    (folder / "rules.yml").write_text(yaml.safe_dump(shorter(RULES)))
    targets = [f"127.0.0.1:{port}" for port in ports[:2]]
    interval = f"{SCRAPE_MS}ms"
    configuration = {
        "global": {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval},
        "rule_files": ["rules.yml"],
        "scrape_configs": [{"job_name": "openbrain", "static_configs": [{"targets": targets}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    command = [str(program("prometheus")), f"--config.file={folder / 'prometheus.yml'}"]
    command += [f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{ports[2]}"]
    services = [sys.executable, "-m", "tests.deploy.unwell", *map(str, ports[:2])]
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(services, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process,
        (folder / "prometheus.log").open("w") as log,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with subprocess.Popen(command, stdout=log, stderr=log) as prometheus:
            try:
                yield process, f"http://127.0.0.1:{ports[2]}"
            finally:
                prometheus.kill()
                process.kill()


@pytest.mark.servers("promtool")
async def test_a_prometheus_that_scrapes_us_fires_each_alert_and_none_while_all_is_well(tmp_path: Path) -> None:
    need("promtool")
    with watched(tmp_path) as (process, url):
        async with httpx.AsyncClient(base_url=url) as client:

            async def asked(query: str) -> list[dict[str, Any]]:
                answer = await client.get("/api/v1/query", params={"query": query})
                return answer.json()["data"]["result"] if answer.is_success else []

            async def firing() -> set[str]:
                return {each["metric"]["alertname"] for each in await asked('ALERTS{alertstate="firing"}')}

            async def scraped() -> bool:
                try:
                    return len(await asked("up == 1")) == 2
                except httpx.TransportError:
                    return False

            async def evaluated_for_long() -> bool:
                return bool(await asked(f"count_over_time(openbrain_backlog_full[1m]) > {ROUNDS}"))

            async def all_fire() -> bool:
                return await firing() == ALERTS.keys()

            await until(scraped)
            await until(evaluated_for_long)
            # On a busy machine a scrape may be late: then the service rightly counts as down.
            late = {"OpenBrainServiceDown"} if await asked("min_over_time(up[1m]) == 0") else set()
            assert await firing() - late == set()
            assert process.stdin is not None
            process.stdin.write("unwell\n")
            process.stdin.flush()
            try:
                await until(all_fire)
            except TimeoutError:
                pytest.fail(f"silent: {sorted(ALERTS.keys() - await firing())}")
