"""Where webhooks may post to, and how receivers can verify what is posted."""

import base64
import hashlib
import hmac
from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.errors import Invalid
from openbrain.domain.signals.webhook_rules import checked_url, is_public, named, new_secret, signature

HOSTS = ("hooks.example.org", ".example.net", "inside")


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.org",
        "https://HOOKS.example.org:8443/a?b=c",
        "https://a.example.net/x",
        "http://inside:8080/hook",
    ],
)
def test_what_is_on_the_list_is_taken(url: str) -> None:
    assert checked_url(url, HOSTS, ("inside",)).geturl() == url


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/hook",
        "https://example.net/hook",
        "https://evil-example.net/hook",
        "https://hooks.example.org.evil.com/hook",
        "http://hooks.example.org/hook",
        "ftp://hooks.example.org/hook",
        "https://ada:secret@hooks.example.org/hook",
        "https://hooks.example.org@evil.com/hook",
        "https://hooks.example.org\\@evil.com/",
        "https://hooks.example.org/#part",
        "https://hooks.example.org/a b",
        "https://hooks.example.org/\r\nx: y",
        "https://hooks.example.org:99999/",
        "https://[::1/",
        "https://hoöks.example.org/",
        "https:///hook",
        "hook",
        "",
        "https://hooks.example.org/" + "a" * 2000,
    ],
)
def test_everything_else_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked_url(url, HOSTS, ())
    assert refused.value.field == "url"
    assert "secret" not in str(refused.value)


def test_without_a_list_nothing_may_be_posted_to() -> None:
    assert not named("example.org", ())
    assert not named("example.org", ("", "."))


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:8.8.8.8"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fd00::1",
        "ff0e::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:0:0:1::",
        "localhost",
        "",
    ],
)
def test_all_others_are_not(address: str) -> None:
    assert not is_public(address)


SPECIAL = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
    *("192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24"),
    *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    *("::/128", "::1/128", "::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23"),
    *("2001::/32", "2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16"),
    *("2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "4000::/2"),
)
"""IANA's special-purpose registries for IPv4 and IPv6, multicast, and unallocated ranges."""


@pytest.mark.parametrize("network", SPECIAL)
def test_no_address_of_a_special_network_is_public(network: str) -> None:
    net = ip_network(network)
    for address in (net[0], net[-1], net[net.num_addresses // 2], net[net.num_addresses // 3]):
        assert not is_public(str(address))
        if isinstance(address, IPv4Address):
            for prefix in ("::", "::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::", "fec0::", "2002::"):
                assert not is_public(f"{prefix}{address}"), prefix


@given(st.ip_addresses(v=4))
def test_an_address_within_another_is_judged_as_itself(address: IPv4Address) -> None:
    assert is_public(str(address)) == is_public(f"::ffff:{address}") == is_public(f"64:ff9b::{address}")
    if is_public(str(address)):
        assert address.is_global


@given(st.ip_addresses())
def test_what_is_public_is_so_for_any_interpreter(address: IPv4Address | IPv6Address) -> None:
    if is_public(str(address)) and not str(address).startswith(("::ffff:", "64:ff9b::")):
        kinds = ("private", "loopback", "link_local", "multicast", "reserved", "unspecified")
        assert [kind for kind in kinds if getattr(address, f"is_{kind}")] == []


def test_a_signature_is_the_one_that_receivers_know() -> None:
    secret = new_secret()
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = hmac.new(key, b"m-1.1700000000.{}", hashlib.sha256).digest()

    assert signature(secret, "m-1", 1_700_000_000, b"{}") == "v1," + base64.b64encode(expected).decode()
    assert len(key) == 32
    assert new_secret() != secret
    # The example from the specification's test vectors.
    assert (
        signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1614265330,
            b'{"test": 2432232314}',
        )
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )
