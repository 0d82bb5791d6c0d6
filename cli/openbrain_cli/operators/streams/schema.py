"""schema: prints the schemas of the streams."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from openbrain.domain.errors import NotFound, SetupError
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson

Stream = Annotated[str, typer.Argument(help="Only this stream, or `asyncapi`; everything if left out.")]
Write = Annotated[Path | None, typer.Option("--write", help="Write files into this folder instead.")]


@command(
    "openbrain schema memory.submitted",
    "openbrain schema asyncapi > asyncapi.json",
    "openbrain schema --write docs/reference",
)
def schema(stream: Stream = "", write: Write = None, json: AsJson = False) -> None:  # noqa: ARG001 - for scripts that always pass it
    """Print the JSON Schema of each event and the AsyncAPI 3 document of the system."""
    from openbrain.streams.operating.asyncapi import documents

    files = _chosen(documents(), stream)
    if write is None:
        _print(files, alone=bool(stream))
        return
    try:
        for name, text in files.items():
            path = write / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupError(f"{error.filename} can't be written: {error.strerror}") from None
    print(f"{len(files)} files written to {write}")


def _chosen(every: Mapping[str, str], stream: str) -> Mapping[str, str]:
    if not stream:
        return every
    name = "asyncapi.json" if stream == "asyncapi" else f"events/{stream}.schema.json"
    if name not in every:
        known = sorted(item.removeprefix("events/").removesuffix(".schema.json") for item in every)
        raise NotFound(f"there is no stream {stream}: choose one of {', '.join(known)}")
    return {name: every[name]}


def _print(files: Mapping[str, str], *, alone: bool) -> None:
    if alone:
        print("".join(files.values()), end="")
        return
    import json

    from openbrain_cli.output import as_json

    as_json({name: json.loads(text) for name, text in files.items()})
