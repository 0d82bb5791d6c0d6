"""All checks in order: the API's health, its dependencies, and the round trip of one memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from openbrain.client import OpenBrain
from openbrain.domain.errors import Forbidden, OpenBrainError
from openbrain_cli.operators.streams.publish import stream_settings
from openbrain_cli.profile import Profile
from openbrain_cli.system.diagnosis import round_trip, stream_server
from openbrain_cli.system.diagnosis.check_result import PATIENCE_S, CheckResult, Status, careful, down, found, timed
from openbrain_cli.system.diagnosis.dependencies import checks
from openbrain_cli.system.diagnosis.unsent_writes import unsent_writes


async def examine(profile: Profile, tell: Callable[[str], object]) -> AsyncIterator[CheckResult]:
    """Yield results as they arrive. `tell` is called with what is done next."""
    brain = None
    try:
        brain = profile.client()
        tell(f"asking {profile.url}")
        health, ms = await timed(brain.health)
        ready = await readiness(profile.url)
        bad = [f"{part} is down" for part, state in health.parts.items() if state == "down"]
        yield found("api", "OpenBrain", health.version, ms, red=bad)
        parts: Mapping[str, str] = dict(health.parts)
    except OpenBrainError as error:
        yield down("api", str(error))
        ready, parts, health = {}, {}, None
    async for finding in _dependencies(profile, ready, parts, tell):
        yield finding
    if unsent := unsent_writes(profile.data_dir):
        yield found("unsent writes", "", "", None, yellow=[str(outbox) for outbox in unsent])
    if brain is not None:
        tell(f"storing two memories, and waiting up to {round_trip.INDEXED_S} s until they are found")
        async for finding in _loop(brain, reached=health is not None):
            yield finding
        await brain.close()


async def _dependencies(
    profile: Profile, ready: Mapping[str, Any], parts: Mapping[str, str], tell: Callable[[str], object]
) -> AsyncIterator[CheckResult]:
    settings = profile.settings()
    every = {
        "streams": lambda: stream_server.check(stream_settings(profile)),
        **checks(settings, ready, parts, here=profile.runs_here),
    }
    if not profile.runs_here and settings.streams.url == "embedded":
        every.pop("streams")  # it belongs to another machine and can't be reached
    tell(f"asking {', '.join(every)}, up to {PATIENCE_S:.0f} s each")
    for finding in await asyncio.gather(*(careful(name, check) for name, check in every.items())):
        yield finding


async def _loop(brain: OpenBrain, *, reached: bool) -> AsyncIterator[CheckResult]:
    if not reached:
        yield down("loop", "not tried: the API does not answer", status=Status.YELLOW)
        return
    try:
        async for finding in round_trip.walk(brain):
            yield finding
    except Forbidden as error:  # as with an operator's key
        yield down("loop", f"not tried: {error}", status=Status.YELLOW)
    except OpenBrainError as error:
        yield down("loop", str(error))


async def readiness(url: str) -> Mapping[str, Any]:
    """The system's readiness by part; {} if the answer can't be read."""
    import httpx

    try:
        async with httpx.AsyncClient(
            base_url=url, timeout=10, trust_env=False, verify=not url.startswith("http:")
        ) as http:
            answer = (await http.get("/ready")).json()
    except (httpx.HTTPError, ValueError):
        return {}
    return answer if isinstance(answer, dict) else {}
