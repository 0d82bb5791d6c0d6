"""The `openbrain up` that runs on a data folder: its process, address and start time."""

import os
import signal
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from openbrain.adapters.local.data_folder import holder
from openbrain.domain.errors import SetupError, TryLater
from openbrain_cli.profile import local_url

_LOOK_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A running `openbrain up`."""

    pid: int
    since: datetime
    url: str
    """'' while it is starting."""


def running_instance(data_dir: Path) -> Instance | None:
    """The instance that holds the folder's lock, if any."""
    held = holder(data_dir)
    if held is None:
        return None
    return Instance(pid=held.pid, since=datetime.fromtimestamp(held.since, UTC), url=local_url(data_dir))


def refuse_second(data_dir: Path) -> None:
    """Raise `SetupError` if an instance already runs on the folder."""
    if (instance := running_instance(data_dir)) is not None:
        where = f", {instance.url}" if instance.url else ", still starting"
        raise SetupError(
            f"OpenBrain is already running on {data_dir}: pid {instance.pid}{where}; use that one, end it with "
            "`openbrain stop`, or choose another folder with --data"
        )


def end(instance: Instance, data_dir: Path, timeout_s: float) -> None:
    """Ask the instance to stop, and wait until it has finished its work. Raise `TryLater` after `timeout_s`."""
    try:
        os.kill(instance.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
    except PermissionError:
        raise SetupError(f"pid {instance.pid} belongs to another user: ask them, or stop it as root") from None
    until = time.monotonic() + timeout_s
    while (now := holder(data_dir)) is not None and now.pid == instance.pid:
        if time.monotonic() > until:
            raise TryLater(f"pid {instance.pid} was asked to stop and has not after {timeout_s:g} s: wait for it")
        time.sleep(_LOOK_S)
