"""Who asks; and what an address may try that sends wrong keys."""

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address, ip_network

import structlog

from openbrain.auth import Actor, Keyring
from openbrain.errors import Unauthorised, WrongKeys
from openbrain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.rates import Allowance, Rate, Rates
from openbrain.settings import Server
from openbrain_api.http.admission import Fields, tell

_UNKNOWN = "unknown"
_NETWORK_BITS = 64
"""Of an IPv6 address: what one subscriber is given at least."""
_TOLD = 1000
_MINUTE = 60 * MICROSECONDS
_log = structlog.get_logger(__name__)


class Door:
    """Looks at keys. Each wrong one takes a token of its address's bucket, and where that is empty only keys that were
    good when this process last saw them are looked at: a caller at the same address goes on."""

    def __init__(self, keyring: Keyring, rates: Rates, clock: Clock, settings: Server) -> None:
        self._keyring, self._rates, self._clock = keyring, rates, clock
        most = settings.wrong_keys_per_minute
        self._rate = Rate(most, most)
        self._told: OrderedDict[str, int] = OrderedDict()
        """When it was last said of an address (microseconds)."""

    async def actor(self, authorization: str, client: tuple[str, int] | None, headers: Fields) -> Actor:
        """Whoever holds the header's key. `Unauthorised`; `WrongKeys` where too many came from there, with the
        X-RateLimit headers."""
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

    def _refused(self, holder: str, taken: Allowance, headers: Fields) -> WrongKeys:
        now, most = self._clock.now(), self._rate.per_minute
        tell(headers, most, taken, now)
        if now - self._told.get(holder, -_MINUTE) >= _MINUTE:
            self._told[holder] = now
            self._told.move_to_end(holder)
            if len(self._told) > _TOLD:
                self._told.popitem(last=False)
            _log.warning("api.wrong_keys", address=holder.partition(".")[2], per_minute=most)
        return WrongKeys(most, taken.retry_after_s)


def source(client: tuple[str, int] | None) -> str:
    """Whom a connection's address stands for: itself, or the network of an IPv6 address."""
    try:
        address = ip_address(client[0].partition("%")[0]) if client else None
    except ValueError:
        address = None
    if address is None:
        return _UNKNOWN
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((address, _NETWORK_BITS), strict=False))
    return str(address)
