"""Where a webhook may post to, and how what it posts is signed. Pure functions.

Signed as by Standard Webhooks: `webhook-signature: v1,<base64 of HMAC-SHA256 over id.timestamp.body>`, with the key
that stands in base64 behind `whsec_`.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from openbrain.errors import Invalid

URL_CHARS = 2000
_SECRET = "whsec_"  # noqa: S105 - the mark of one
_NAT64 = IPv6Network("64:ff9b::/96")


def new_secret() -> str:
    """256 random bits, as receivers know them."""
    return _SECRET + base64.b64encode(secrets.token_bytes(32)).decode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The header's value. `timestamp`: seconds since 1970, as the header `webhook-timestamp` says."""
    key = base64.b64decode(secret.removeprefix(_SECRET))
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def checked_url(url: str, hosts: Sequence[str], private_hosts: Sequence[str]) -> SplitResult:
    """The parts of an address that may be posted to, by its name alone. `Invalid` says why it may not."""
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
        raise Invalid("url", "is of a host that is not on the operator's list (OPENBRAIN_WEBHOOKS__HOSTS)")
    if parts.scheme == "http" and not named(host, private_hosts):
        raise Invalid("url", "must begin with https://")
    return parts


def named(host: str, hosts: Sequence[str]) -> bool:
    """Whether a list of hosts names this one, itself or by a domain above it."""
    host = host.lower().rstrip(".")
    return any(
        host.endswith(each) and len(host) > len(each) if each.startswith(".") else host == each
        for each in (name.lower().rstrip(".") for name in hosts)
        if each
    )


def is_public(address: str) -> bool:
    """Whether an IP address, also one inside another, is one of the whole Internet's."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        if found.sixtofour is not None or found.teredo is not None:
            return False  # leads somewhere else
        within = found.ipv4_mapped or (IPv4Address(int(found) & 0xFFFFFFFF) if found in _NAT64 else None)
        found = within or found
    return found.is_global and not found.is_multicast
