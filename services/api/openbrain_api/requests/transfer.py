"""What exports and imports are asked with."""

from typing import Annotated

from pydantic import Field

from openbrain.usecases.transfer_lines import CURSOR
from openbrain_api.requests.memories import QueryString
from openbrain_api.requests.narrowing import NarrowQuery


class ExportQuery(NarrowQuery):
    """What to export."""

    cursor: Annotated[
        str | None, Field(pattern=CURSOR, description="Of the last mark that was read: goes on from there.")
    ] = None


class ImportQuery(QueryString):
    """How to import."""

    dry_run: Annotated[bool, Field(description="Only tell what would become of each line.")] = False
