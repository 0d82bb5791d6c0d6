"""Redis or Valkey: its version, and settings that lose data silently."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from redis.asyncio import Redis

from openbrain.domain.errors import OpenBrainError
from openbrain.settings import Streams
from openbrain.streams.operating.dead_letter_retention import ALARM_AT, BoxUsage, survey
from openbrain.streams.redis.connection import AWAY, connect, server_time, without_login
from openbrain_cli.system.diagnosis.check_result import CheckResult, clock_problems, found, timed

NAME = "streams"
OLDEST_REDIS = (7, 0)
OLDEST_VALKEY = (8, 0)

_NEARLY_FULL = 0.8


async def check(settings: Streams) -> CheckResult:
    client: Redis = connect(settings)
    try:
        _, ms = await timed(client.ping)
        info: Mapping[str, Any] = await client.info("everything")
        sent_at = time.time()
        clock = clock_problems(await server_time(client) / 1e6, sent_at, time.time())
        letters = await survey(client, settings)
    except AWAY as error:
        where = without_login(settings.url)
        raise OpenBrainError(
            f"{where} does not answer ({type(error).__name__}): is it started, is the URL right?"
        ) from error
    finally:
        await client.aclose()
    product, version = _version(info)
    risky = [*_risky(info, settings), *clock, *_dead(letters)]
    return found(NAME, product, version, ms, red=_losing(info, product, version), yellow=risky)


def _version(info: Mapping[str, Any]) -> tuple[str, str]:
    if "valkey_version" in info:
        return "Valkey", str(info["valkey_version"])
    return "Redis", str(info.get("redis_version", ""))


def _losing(info: Mapping[str, Any], product: str, version: str) -> Sequence[str]:
    problems = []
    oldest = OLDEST_VALKEY if product == "Valkey" else OLDEST_REDIS
    if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < oldest:
        problems.append(f"{product} {version} is too old: use {'.'.join(map(str, oldest))} or later")
    policy = info.get("maxmemory_policy")
    if policy != "noeviction":
        problems.append(f"maxmemory-policy is {policy}: entries vanish when memory is short; set noeviction")
    if not info.get("aof_enabled"):
        problems.append("the append-only file is off: a restart loses what was submitted; set appendonly yes")
    if info.get("role") != "master":
        problems.append(f"it is a {info.get('role')}: writes are refused or lost; use the URL of the master")
    return problems


def _dead(letters: Sequence[BoxUsage]) -> Sequence[str]:
    problems = []
    for letter in letters:
        problem = f"{letter.letters} dead letters of {letter.box.stream} for {letter.box.group}"
        if letter.share >= ALARM_AT:
            what = "time" if letter.time >= letter.space else "space"
            problem += f", and {letter.share:.0%} of their {what} is used up: then the oldest are dropped"
        problems.append(f"{problem}: see `openbrain dead list`, replay or discard them")
    return problems


def _risky(info: Mapping[str, Any], settings: Streams) -> Sequence[str]:
    problems = []
    limit, used = int(info.get("maxmemory", 0)), int(info.get("used_memory", 0))
    if not limit:
        problems.append(
            "maxmemory is not set: it may take all of the machine's memory; set one. Until then writes are refused "
            f"from {settings.memory_share:.0%} of {settings.memory_mb} MB on (streams.memory_mb)"
        )
    elif used > limit * _NEARLY_FULL:
        problems.append(f"{used * 100 // limit} % of maxmemory are used: raise it, or trim streams")
    if info.get("aof_last_write_status", "ok") != "ok":
        problems.append("the last write of the append-only file failed: look at its disk")
    return problems
