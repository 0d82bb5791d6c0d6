"""What the route that verifies takes."""

from typing import Annotated

from pydantic import ConfigDict, Field

from openbrain_api.requests.memories import Body


class VerifyBody(Body):
    """Nothing is changed unless `repair` or `restored` is asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    full: Annotated[bool, Field(strict=True, description="Compare every entry, also where the sums agree.")] = False
    repair: Annotated[bool, Field(strict=True, description="Make the indexes equal to the truth.")] = False
    restored: Annotated[
        bool,
        Field(
            strict=True,
            description="The database was put back to an earlier state: index everything again, above "
            "what any index has seen. Includes `repair`.",
        ),
    ] = False
