"""Which addresses a webhook may post to, and its signature. Pure functions.

Signed according to Standard Webhooks: `webhook-signature: v1,<base64 of HMAC-SHA256 over id.timestamp.body>`; the key
is the base64 part behind `whsec_`.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from openbrain.domain.errors import Invalid

URL_CHARS = 2000
_SECRET = "whsec_"  # noqa: S105 - the mark of one
_GLOBAL_V6 = IPv6Network("2000::/3")
"""The IPv6 blocks that IANA allocates as global unicast; all others are refused."""
_NOT_PUBLIC_V4 = tuple(
    IPv4Network(item)
    for item in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),  # multicast; reserved, and the broadcast
    )
)
_NOT_PUBLIC_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")))
"""IANA's special-purpose registries as of 2026, written down because Python's list varies between versions. Addresses
that embed another one (6to4, Teredo) are listed too."""
_HOLDING_V4 = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
"""IPv4 mapped into IPv6, and NAT64 addresses of IPv4."""


def new_secret() -> str:
    """256 random bits in the format that receivers expect."""
    return _SECRET + base64.b64encode(secrets.token_bytes(32)).decode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The header's value. `timestamp`: seconds since 1970, equal to the header `webhook-timestamp`."""
    key = base64.b64decode(secret.removeprefix(_SECRET))
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def checked_url(url: str, hosts: Sequence[str], private_hosts: Sequence[str]) -> SplitResult:
    """Split an address that may be posted to, judging its name only. Raise `Invalid` with the reason if it may not."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise Invalid("url", "can't be read: write it like https://example.org/hook") from None
    if len(url) > URL_CHARS:
        raise Invalid("url", f"must be at most {URL_CHARS} characters long")
    if any(not "!" <= sign <= "~" for sign in url) or "\\" in url:
        raise Invalid("url", "must be written in ASCII, without blanks and backslashes")
    if parts.scheme not in ("https", "http") or not host:
        raise Invalid("url", "must be an address like https://example.org/hook")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise Invalid("url", "must hold no login and no fragment")
    if not named(host, hosts):
        raise Invalid("url", "has a host that is not on the operator's list (OPENBRAIN_WEBHOOKS__HOSTS)")
    if parts.scheme == "http" and not named(host, private_hosts):
        raise Invalid("url", "must begin with https://")
    return parts


def named(host: str, hosts: Sequence[str]) -> bool:
    """True if a list of hosts contains this one or a parent domain."""
    host = host.lower().rstrip(".")
    return any(
        host.endswith(item) and len(host) > len(item) if item.startswith(".") else host == item
        for item in (name.lower().rstrip(".") for name in hosts)
        if item
    )


def is_public(address: str) -> bool:
    """True if an IP address, including one embedded in another, is public."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, IPv6Address) and any(ip in item for item in _HOLDING_V4):
        ip = IPv4Address(int(ip) & 0xFFFFFFFF)
    if isinstance(ip, IPv4Address):
        return not any(ip in item for item in _NOT_PUBLIC_V4)
    return ip in _GLOBAL_V6 and not any(ip in item for item in _NOT_PUBLIC_V6)
