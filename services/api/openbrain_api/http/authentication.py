"""Authentication of requests, and the limit of wrong keys per address."""

import hmac
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

import structlog

from openbrain.domain.access.permissions import Permission
from openbrain.domain.caches import Lru
from openbrain.domain.errors import Forbidden, Unauthorised, VisitsLimited, WrongKeys
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.store.tenants import Allowance, Rate, Rates
from openbrain.settings.server import Server
from openbrain.usecases.auth import OPERATORS, Actor, Keyring
from openbrain_api.http.rate_limit import Fields, set_rate_limit

_UNKNOWN = "unknown"
_NETWORK_BITS = 64
"""Prefix of an IPv6 address that counts as one source: a subscriber gets at least a /64."""
_ADDRESSES = 1000
_MINUTE = 60 * MICROSECONDS
_log = structlog.get_logger(__name__)


class Authenticator:
    """Checks keys. Each wrong key takes a token from its address's bucket. While the bucket is empty, only keys that
    this process knows as valid are accepted, so that other callers at the same address still get through."""

    def __init__(self, keyring: Keyring, rates: Rates, clock: Clock, settings: Server) -> None:
        self._keyring, self._rates, self._clock = keyring, rates, clock
        most = settings.wrong_keys_per_minute
        self._rate = Rate(most, most)
        self._visits = Rate(settings.tuning.documents_per_minute, settings.tuning.documents_per_minute)
        self._metrics_open = settings.metrics_open
        self._metrics_token = f"Bearer {settings.metrics_token}".encode() if settings.metrics_token else b""
        self._logged: Lru[str, int] = Lru(_ADDRESSES)
        """Time of the last log line by address, in microseconds."""

    async def actor(self, authorization: str, client: tuple[str, int] | None, headers: Fields) -> Actor:
        """Return the holder of the header's key. Raise `Unauthorised`, or `WrongKeys` if the address sent too many,
        with the X-RateLimit headers set."""
        if not self._rate.per_minute or not authorization:
            return await self._keyring.actor(authorization)
        holder = f"wrong-keys.{source(client)}"
        if not self._keyring.knows(authorization):
            left = await self._rates.take(holder, self._rate, 0)
            if left.remaining < 1:
                raise self._refused(holder, await self._rates.take(holder, self._rate, 1), headers)
        try:
            return await self._keyring.actor(authorization)
        except Unauthorised:
            taken = await self._rates.take(holder, self._rate, 1)
            if not taken.granted:
                raise self._refused(holder, taken, headers) from None
            raise

    async def operator(self, authorization: str, client: tuple[str, int] | None, headers: Fields) -> None:
        """Admit callers that may see the system's state: by the metrics token, or by an operators' key. Else raise."""
        if self._metrics_open or (
            self._metrics_token and hmac.compare_digest(authorization.encode(), self._metrics_token)
        ):
            return
        actor = await self.actor(authorization, client, headers)
        actor.require(Permission.ADMIN)
        if actor.workspace_id != OPERATORS:
            raise Forbidden(f"this is for the metrics token of the settings, or an admin key of {OPERATORS}")

    async def visitor(self, client: tuple[str, int] | None, headers: Fields) -> None:
        """Count a request that needs no key. Raise `VisitsLimited` if its address sent too many."""
        if not self._visits.per_minute:
            return
        taken = await self._rates.take(f"visits.{source(client)}", self._visits, 1)
        set_rate_limit(headers, self._visits.per_minute, taken, self._clock.now())
        if not taken.granted:
            raise VisitsLimited(self._visits.per_minute, taken.retry_after_s)

    def _refused(self, holder: str, taken: Allowance, headers: Fields) -> WrongKeys:
        now, most = self._clock.now(), self._rate.per_minute
        set_rate_limit(headers, most, taken, now)
        if now - self._logged.get(holder, -_MINUTE) >= _MINUTE:
            self._logged[holder] = now
            _log.warning("api.wrong_keys", address=holder.partition(".")[2], per_minute=most)
        return WrongKeys(most, taken.retry_after_s)


def source(client: tuple[str, int] | None) -> str:
    """The name by which rates are counted: the address of a connection, or the network of an IPv6 address."""
    return _source(client[0]) if client else _UNKNOWN


@lru_cache(_ADDRESSES)
def _source(host: str) -> str:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return _UNKNOWN
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((address, _NETWORK_BITS), strict=False))
    return str(address)
