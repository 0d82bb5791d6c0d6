"""stop: stops `openbrain up` from another terminal."""

from typing import Annotated

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Data
from openbrain_cli.output import as_json

Timeout = Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait for its end.")]


@command("openbrain stop", "openbrain stop --data ./brain")
def stop(data: Data = None, timeout: Timeout = 60, json: AsJson = False) -> None:
    """Stop the `openbrain up` of this data folder, and wait until it has ended. Work in progress is finished first;
    nothing is lost."""
    from openbrain_cli.profile import profile
    from openbrain_cli.system.embedded.instance import end, running_instance

    folder = profile(data=data).data_dir
    instance = running_instance(folder)
    if instance is not None:
        end(instance, folder, timeout)
    if json:
        as_json({"stopped": None if instance is None else instance.pid, "data": str(folder)})
    elif instance is None:
        print(f"no OpenBrain runs on {folder}: there is nothing to stop")
    else:
        print(f"stopped: pid {instance.pid}, on {folder}; `openbrain up` continues where it stopped")
