"""Settings of the HTTP server (address, limits, access) and of every process's logs."""

from ipaddress import ip_network

from pydantic import Field, field_validator

from openbrain.domain.limits import WAIT_SECONDS
from openbrain.settings.groups import Group
from openbrain.settings.tuning import ServerTuning


class Server(Group):
    """The HTTP server."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8788, ge=0, le=65535, description="Port; 0: any free one.")
    wait_s: int = Field(
        0,
        ge=0,
        le=WAIT_SECONDS,
        description="Seconds that a write without `Prefer` waits until it is indexed; 0: does not wait.",
    )
    rate_per_minute: int = Field(
        12_000,
        ge=0,
        le=10_000_000,
        description="Requests per minute of a key without a limit of its own; 0: unlimited.",
    )
    wrong_keys_per_minute: int = Field(
        60,
        ge=0,
        le=1_000_000,
        description="Wrong keys per minute from one address, above which only keys seen before are accepted; 0: "
        "unlimited.",
    )
    trusted_proxies: tuple[str, ...] = Field(
        (),
        description="Addresses and networks of proxies whose `X-Forwarded-For` is trusted; else the client is the peer "
        "of the connection.",
    )
    metrics_token: str = Field(
        "",
        repr=False,
        description="Bearer token for `/metrics` on the API's port; an admin key of `system` works too.",
    )
    metrics_open: bool = Field(
        False,
        description="Whether `/metrics` on the API's port needs no token: only if nobody but the scraper can "
        "reach the port.",
    )
    origins: tuple[str, ...] = Field(
        (), description="Origins that may use `/mcp` from a browser, in addition to this machine: https://host[:port]."
    )
    keep_imported_ids: bool = Field(
        False,
        description="Whether an import of a backup keeps memory ids even if there are other workspaces; the importer "
        "can then learn which ids those contain.",
    )
    listeners: int = Field(
        2000,
        ge=1,
        le=100_000,
        description="Concurrent listeners (streams, polls) per API process. At the limit, a workspace with fewer takes "
        "the place of a listener of the one with the most, which has to reconnect.",
    )
    connections: int = Field(
        4096,
        ge=1,
        le=1_000_000,
        description="Open connections per process. At the limit idle ones are closed; if all are in use, new ones get "
        "503.",
    )
    tuning: ServerTuning = ServerTuning()

    @field_validator("trusted_proxies")
    @classmethod
    def _known_by_address(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse what no connection comes from: then all clients would count as one, the proxy."""
        for proxy in proxies:
            try:
                _ = proxy == "*" or ip_network(proxy)
            except ValueError:
                raise ValueError(f"{proxy} is no address, and no network such as 10.0.0.0/8") from None
        return proxies


class Logs(Group):
    """Settings of logs."""

    level: str = Field("INFO", description="DEBUG, INFO, WARNING or ERROR.")
    json_lines: bool | None = Field(
        None, description="One JSON object per line, or readable lines; null: readable in a terminal, JSON elsewhere."
    )

    @field_validator("level")
    @classmethod
    def _known_level(cls, level: str) -> str:
        if level.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR"):
            raise ValueError("must be DEBUG, INFO, WARNING or ERROR")
        return level.upper()
