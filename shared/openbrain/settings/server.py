"""HTTP: where it listens, how much it takes, whom it lets in."""

from pydantic import Field

from openbrain.domain.limits import WAIT_SECONDS
from openbrain.settings.groups import Group
from openbrain.settings.tuning import ServerTuning


class Server(Group):
    """HTTP."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8788, ge=0, le=65535, description="0 takes a free one.")
    wait_s: int = Field(
        0,
        ge=0,
        le=WAIT_SECONDS,
        description="How long a write without `Prefer` waits until it is indexed; 0 answers at once.",
    )
    rate_per_minute: int = Field(
        12_000, ge=0, le=10_000_000, description="Requests a key may make a minute, unless it says otherwise; 0: any."
    )
    wrong_keys_per_minute: int = Field(
        60, ge=0, le=1_000_000, description="Wrong keys that may come from one address a minute; 0: any."
    )
    trusted_proxies: tuple[str, ...] = Field(
        (),
        description="Addresses and networks whose `X-Forwarded-For` says who asks; else it is whoever connects.",
    )
    metrics_token: str = Field(
        "",
        repr=False,
        description="Opens `/metrics` beside the API as a bearer token; an admin key of `system` does so too.",
    )
    metrics_open: bool = Field(
        False, description="Whether `/metrics` beside the API is open: where only the scraper reaches the port."
    )
    origins: tuple[str, ...] = Field(
        (), description="Whose pages may use `/mcp` from a browser, beside those of this machine: https://host[:port]."
    )
    keep_imported_ids: bool = Field(
        False,
        description="Whether a backup keeps its memories' ids also beside other workspaces; then who imports one can "
        "learn which ids these hold.",
    )
    listeners: int = Field(
        2000, ge=1, le=100_000, description="Who may hear signals by one process of the API at once (streams, polls)."
    )
    connections: int = Field(
        4096,
        ge=1,
        le=1_000_000,
        description="Open at once, of each process: then those without a request give way, and where all have one 503.",
    )
    tuning: ServerTuning = ServerTuning()
