"""The doctor's checks report what is broken, and leave nothing behind."""

from pathlib import Path

import pytest

from openbrain.client import OpenBrain
from openbrain.domain.access.permissions import Permission
from openbrain_cli.profile import profile
from openbrain_cli.system.diagnosis import round_trip
from openbrain_cli.system.diagnosis.check_result import CheckResult, Status
from openbrain_cli.system.diagnosis.doctor import _verdict
from openbrain_cli.system.diagnosis.examination import examine
from tests.support.api.brain import Brain
from tests.support.api.served import served
from tests.support.waiting import PATIENCE_S


async def walked(brain: Brain) -> tuple[dict[str, CheckResult], int]:
    """Findings by name, and how many probe memories are left."""
    import httpx

    async with OpenBrain("http://brain", await brain.key(), transport=httpx.ASGITransport(brain.app())) as client:
        findings = {finding.name: finding async for finding in round_trip.walk(client)}
        return findings, (await client.memories(project=round_trip.PROJECT)).count


async def test_rooms_that_do_not_run_are_seen(brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_trip, "INDEXED_S", 0)
    findings, left = await walked(brain)

    told = {name: finding.status for name, finding in findings.items()}
    assert told == {
        "remember": Status.YELLOW,  # the test's clock is months from this machine's
        "indexed": Status.RED,
        "recall by keyword": Status.RED,
        "recall by meaning": Status.RED,
        "forget": Status.GREEN,
    }
    assert "its clock differs" in findings["remember"].problems[0]
    assert "created after 0 s" in findings["indexed"].problems[0]
    assert left == 0


async def test_it_says_what_it_does_next(brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_trip, "INDEXED_S", 0)
    (tmp_path / "key").write_text(await brain.key())
    (tmp_path / "key").chmod(0o600)
    told: list[str] = []
    async with served(brain.app()) as url:
        names = [each.name async for each in examine(profile(url, tmp_path / "key", tmp_path), told.append)]

    assert (names[0], names[-1], told[0]) == ("api", "forget", f"asking {url}")
    assert [told[1].startswith("asking "), "truth, text, vectors, embedder" in told[1]] == [True, True]
    assert told[2].startswith("storing two memories")


async def test_rooms_that_run_make_it_green(brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_trip, "INDEXED_S", PATIENCE_S)
    async with brain.services():
        findings, left = await walked(brain)

    assert {finding.status for name, finding in findings.items() if name != "remember"} == {Status.GREEN}
    assert left == 0


async def test_an_operators_key_may_not_write_which_is_no_fault_of_the_system(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(await brain.key("system", permissions=frozenset({Permission.ADMIN})))
    (tmp_path / "key").chmod(0o600)
    async with served(brain.app()) as url:
        findings = [each async for each in examine(profile(url, tmp_path / "key", tmp_path), lambda _: None)]

    assert (findings[-1].name, findings[-1].status) == ("loop", Status.YELLOW)
    assert "brain.write" in findings[-1].problems[0]
    assert _verdict(findings, red=False) == "no check is red, but storing and finding was not tried"
    assert _verdict(findings[:-1], red=False) == "the system works end to end"
