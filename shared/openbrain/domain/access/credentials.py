"""Address and key of the OpenBrain to use, from environment variables: ours first, then those of the original."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR
from urllib.parse import SplitResult, urlsplit

from openbrain.domain.errors import SetupError, Unauthorised

ORIGINAL_KEY_FILE = ".claude/brain.key"
RESPONSE_BYTES = 1024 * 1024
LOOPBACK = ("localhost", "127.0.0.1", "::1")
TRUE = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A server address and the credentials to use there."""

    url: str
    key: str
    org: str = ""
    agent_id: str = ""
    allow_http: bool = False
    response_bytes: int = RESPONSE_BYTES


def from_environment(environment: Mapping[str, str], home: Path) -> Credentials:
    """Read OPENBRAIN_URL, _API_KEY or _KEY_FILE, _ORG, _AGENT_ID, _ALLOW_HTTP and _RESPONSE_BYTES. Fallbacks for the
    first five are the original's CORE_BRAIN_URL, _KEY, _ORG, _AGENT_ID and _INSECURE, and its file ~/.claude/brain.key.

    Raise `SetupError` without a URL or if others can read the key file, `Unauthorised` without a key.
    """

    def named(*names: str) -> str:
        return next((value for name in names if (value := environment.get(name, "").strip())), "")

    url = named("OPENBRAIN_URL", "CORE_BRAIN_URL")
    if not url:
        raise SetupError("no server is configured: set OPENBRAIN_URL")
    most = named("OPENBRAIN_RESPONSE_BYTES")
    if most and not most.isdecimal():
        raise SetupError("OPENBRAIN_RESPONSE_BYTES must be a number of bytes")
    file = named("OPENBRAIN_KEY_FILE")
    key = named("OPENBRAIN_API_KEY", "CORE_BRAIN_KEY")
    return Credentials(
        url=url,
        key=key or read_key(Path(file).expanduser() if file else home / ORIGINAL_KEY_FILE),
        org=named("OPENBRAIN_ORG", "CORE_BRAIN_ORG"),
        agent_id=named("OPENBRAIN_AGENT_ID", "CORE_BRAIN_AGENT_ID"),
        allow_http=named("OPENBRAIN_ALLOW_HTTP", "CORE_BRAIN_INSECURE").lower() in TRUE,
        response_bytes=int(most or RESPONSE_BYTES),
    )


def address_of(url: str) -> SplitResult:
    """Split the URL of a server. Raise `SetupError` if it is none."""
    try:
        address = urlsplit(url)
        usable = address.port != 0 and address.hostname and not (address.query or address.fragment)
    except ValueError:  # of the port or an IPv6 address
        usable = False
    # `urlsplit` overlooks spaces and line breaks.
    if not usable or address.scheme not in ("http", "https") or not url.isprintable() or " " in url:
        raise no_url(url)
    return address


def no_url(url: str) -> SetupError:
    return SetupError(f"{url!r} is not a URL: write it as http://127.0.0.1:8788 or https://brain.example.org")


def checked_address(url: str, *, allow_http: bool) -> SplitResult:
    """Split the URL of a server that a key may be sent to. Raise `SetupError` if it must not be sent there."""
    address = address_of(url)
    if address.scheme == "http" and not (address.hostname in LOOPBACK or allow_http):
        raise SetupError(f"{url} would send the key in the clear: use https, or allow http where the network is safe")
    return address


def read_key(path: Path) -> str:
    """Return the first line of a key file. Only its owner may be able to read it."""
    try:
        mode = path.stat().st_mode
        if S_ISDIR(mode):
            raise SetupError(f"{path} is a folder: name the file with the key in it")
        if mode & 0o077:
            raise SetupError(f"{path} can be read by others (mode {mode & 0o777:04o}): chmod 600 {path}")
        secret = path.read_text(encoding="utf-8").partition("\n")[0].strip()
    except FileNotFoundError:
        raise Unauthorised(
            f"there is no key file {path}: `openbrain up` writes one, or name another with --key-file"
        ) from None
    except (OSError, UnicodeDecodeError):
        raise SetupError(f"the key file {path} can't be read: check its owner and mode") from None
    if not secret:
        raise SetupError(f"the key file {path} is empty: its first line must be the key")
    return secret
