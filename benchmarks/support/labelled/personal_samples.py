"""A labelled set of texts for the detection of personal data: 300 with personal data, 300 with similar values.

Every value comes from documentation: reserved domains, networks and telephone numbers, test card numbers, the examples
of the IBAN registry and of the offices that issue numbers. The halves use different sentences and code; the first was
used to choose detectors, the second was fixed at the same time and not looked at before.
"""

import random
from collections.abc import Sequence
from typing import Final

from benchmarks.support.labelled.secret_samples import EACH, HALVES, Make, Sample

SEED: Final = 20261125
_NAMES = ("anna.muster", "j.doe", "maria_lopez", "li-wei", "Tom.Example", "k.novak+shop", "o'brien", "support7", "r2")
_HOSTS = ("example.com", "example.org", "mail.example.net", "shop.example", "a-b.example.co.uk", "EXAMPLE.COM")


def personal_samples() -> Sequence[Sample]:
    """All samples. `secret` is true for personal data."""
    made = []
    for personal, kinds, around in ((True, _PERSONAL, _AROUND_PERSONAL), (False, _LOOK_ALIKES, _AROUND_LOOK_ALIKES)):
        for kind, make in kinds.items():
            source = random.Random(f"{SEED} {kind}")
            for number in range(EACH):
                half = number % 2
                value = make(source)
                text = value if value[0] == " " else source.choice(around[half]).format(value)
                made.append(Sample(kind, text.strip(), value.strip(), personal, HALVES[half]))
    return made


def _one(*forms: str) -> Make:
    """A value, with a random digit for each `#`."""

    def make(source: random.Random) -> str:
        return "".join(source.choice("0123456789") if each == "#" else each for each in source.choice(forms))

    return make


def _email(source: random.Random) -> str:
    return f"{source.choice(_NAMES)}@{source.choice(_HOSTS)}"


def _in(form: str, make: Make) -> Make:
    """A text that needs no sentence around it."""
    return lambda source: " " + form.format(make(source))


def _grouped(every: int, *values: str) -> Make:
    def make(source: random.Random) -> str:
        value, between = source.choice(values), source.choice(("", " ", " "))
        return between.join(value[at : at + every] for at in range(0, len(value), every))

    return make


def _card(source: random.Random) -> str:
    value, between = source.choice(_CARDS), source.choice(("", " ", "-"))
    parts = (4, 6, 5) if len(value) == 15 else (4, 6, 4) if len(value) == 14 else (4,) * 4
    ends = [sum(parts[: at + 1]) for at in range(len(parts))]
    return between.join(value[end - part : end] for part, end in zip(parts, ends, strict=True))


def _called(**numbers: Sequence[str]) -> Make:
    """An official number with its usual name."""

    def make(source: random.Random) -> str:
        form = source.choice(("{}: {}", "{} {}", '"{}": "{}"', "{} is {}", "{}={}", "{} no. {}"))
        name = source.choice([*numbers])
        values = numbers[name]
        return form.format(name.replace("_", " "), source.choice(values))

    return make


def _hex(count: int) -> Make:
    return lambda source: "".join(source.choices("0123456789abcdef", k=count))


def _uuid(source: random.Random) -> str:
    return "-".join(_hex(count)(source) for count in (8, 4, 4, 4, 12))


_CARDS: Final = (
    "4242424242424242",
    "4111111111111111",
    "4000056655665556",
    "5555555555554444",
    "2223003122003222",
    "5105105105105100",
    "378282246310005",
    "371449635398431",
    "6011111111111117",
    "30569309025904",
    "3566002020360505",
)
_IBANS: Final = (
    "DE89370400440532013000",
    "GB29NWBK60161331926819",
    "FR1420041010050500013M02606",
    "NL91ABNA0417164300",
    "CH9300762011623852957",
    "AT611904300234573201",
    "ES9121000418450200051332",
    "IT60X0542811101000000123456",
    "BE68539007547034",
    "SE4550000000058398257466",
    "NO9386011117947",
    "DK5000400440116243",
    "FI2112345600000785",
    "PL61109010140000071219812874",
    "PT50000201231234567890154",
    "IE29AIBK93115212345678",
    "LU280019400644750000",
    "SA0380000000608010167519",
)
_PERSONAL: Final[dict[str, Make]] = {
    "e-mail": _email,
    "e-mail of a domain": _email,
    "e-mail in code": _in("git config user.email {}", _email),
    "e-mail in a header": _in("From: Anna Muster <{}>\nSubject: invoice", _email),
    "e-mail in a record": _in('{{"id": 7, "mail": "{}", "ok": true}}', _email),
    "phone, North America": _one("(212) 555-01##", "212-555-01##", "415.555.01##", "1-800-555-01##"),
    "phone, North America, international": _one("+1 212 555 01##", "+1-415-555-01##", "+1 (202) 555-01##"),
    "phone, United Kingdom": _one("+44 20 7946 0###", "+44 7700 900###", "+44 (0)161 496 0###"),
    "phone, Germany": _one("+49 30 23125 ###", "+49 (0)89 99998 ###", "+49 171 39200 ##"),
    "phone, France": _one("+33 6 39 98 ## ##", "+33639980###", "+33 6 39 98 0# ##"),
    "phone, elsewhere": _one("+61 491 570 156", "+61 491 571 804", "+353 20 910 00##", "+46 70 174 06 ##"),
    "phone in one piece": _one("+121255501##", "+141555501##", "+447700900###", "+493023125###"),
    "phone after its name": _in("phone: {} (mornings)", _one("020 7946 0###", "07700 900###", "030 23125###")),
    "card": _card,
    "card of a test": _card,
    "card in a record": _in('"number": "{}", "exp": "12/30"', _card),
    "iban": _grouped(4, *_IBANS),
    "iban in one piece": _one(*_IBANS),
    "social security number": _called(
        SSN=("123-45-6789", "219-09-9999"), ssn=("123-45-6789",), social_security_number=("123-45-6789",)
    ),
    "health number": _called(NHS_number=("999 123 4551", "9991234551"), NHS=("9434765919", "943 476 5919")),
    "tax number, Germany": _called(IdNr=("86095742719", "65 929 970 489"), Steuer_ID=("47036892816",)),
    "number, Spain": _called(DNI=("12345678Z", "12345678-Z"), NIF=("12345678Z",), NIE=("X1234567L", "X-1234567-L")),
    "number, Italy": _called(codice_fiscale=("RSSMRA85T10A562S",), CF=("MRTMTT25D09F205Z",)),
    "number, Nordic": _called(
        personnummer=("811228-9874", "19811228-9874"), CPR=("211062-5629",), henkilötunnus=("131052-308T",)
    ),
    "number, Netherlands and Poland": _called(BSN=("111222333", "123456782"), PESEL=("44051401359",)),
    "number, Brazil and India": _called(CPF=("529.982.247-25", "111.444.777-35"), Aadhaar=("9999 4105 7058",)),
    "address of a network": _one("192.0.2.1#", "198.51.100.2#", "203.0.113.1##"),
    "address and port": _in("connect to {}:443 timed out", _one("192.0.2.1#", "198.51.100.2#", "203.0.113.1##")),
    "address of six": _one("2001:db8::#", "2001:db8:0:1::a#", "2001:db8:85a3::8a2e:370:733#", "2001:DB8::F#"),
    "url with credentials": _one(
        "https://anna:s3cr3t-##@example.com/feed",
        "postgres://app:Xk29vplq7##@db.example.net:5432/shop",
        "ftp://j.doe:hunter2##@files.example.org",
        "redis://:p4ssw0rd##x@cache.example:6379/0",
    ),
}
_LOOK_ALIKES: Final[dict[str, Make]] = {
    "version": _one("v1.2.3.4#", "version 1.#.3.4", "release 4.18.0.1##", "FooLib==1.2.3.4", "Version: 10.2.#.1"),
    "version of an operating system": _one("10.0.19041.##", "6.1.7601.###", "99.0.4844.##", "115.0.5790.###"),
    "private network": _one("10.0.3.#", "192.168.1.1##", "172.16.0.#", "10.#.0.0/16", "192.168.0.0/24"),
    "own machine": _one("127.0.0.1", "127.0.0.1:8###", "0.0.0.0:80##", "::1", "[::1]:8###", "255.255.255.0"),
    "object identifier": _one("1.3.6.1.4.1.311.#", "1.2.840.113549.1.1.#", "2.5.29.1#.1.2"),
    "moment": _one("2026-11-2#T14:20:0#Z", "2026-11-25 14:2#:33,123", "25.11.2026 14:2#", "20261125-14203#"),
    "seconds and microseconds": _one("17325504##", "1732550400###", "1732550400######", "1732550400#########"),
    "uuid": _uuid,
    "hash": _hex(40),
    "short hash": _hex(8),
    "number of an order": _one("order 20########", "#1002003##", "OPS-2125550###", "PR 12345678#", "job 88123456#"),
    "number that is no card": _one(
        "4242424242424241", "4111 1111 1111 1112", "5555-5555-5555-4440", "6011111111111110"
    ),
    "number that is no iban": _one("DE89370400440532013001", "GB29 NWBK 6016 1331 9268 18", "NL92ABNA0417164300"),
    "handle": _one("@team-payments", "@property", "@anna", "@types/node@22.#.1", "@scope/pkg@1.2.#", "react@18.#.0"),
    "remote of git": _one("git@github.com:org/repo.git", "git@gitlab.example.com:a/b#.git", "ssh://git@host/repo.git"),
    "user of a machine": _one("root@localhost", "deploy@web#", "ubuntu@db-0#:~$", "getty@tty#.service", "a@b"),
    "picture": _one("logo@2x.png", "icon@3x.webp", "hero-0#@2x.jpg", "sprite@1.5x.svg"),
    "image by its digest": lambda source: f"nginx@sha256:{_hex(64)(source)}",
    "money and amounts": _one("1,234,567.#9", "12.345.678,#0", "EUR 1.250.000,00", "1 024 768 5##", "3.14159265#"),
    "isbn": _one("978-3-16-148410-0", "ISBN 9780306406157", "ISBN 0-306-40615-2", "978-0-13-235088-#"),
    "ranges and sizes": _one("100-200-3##", "1024x768x24", "0-255", "8080-8090", "1-2-3-4-5", "512-1024-2048"),
    "place in a file": _one("app.py:212:55", "main.go:415:5:", "lib.rs:20:7-9", "L212-L25#", "0x7ffe5501##"),
    "hardware address": _one("00:00:5e:00:53:0#", "00-00-5E-00-53-A#", "12:34:56", "01:02:03.45#"),
    "names in code": _one("std::vector", "a::b::c", "::before", "crate::add::Bed", "Face::new", "abc::def"),
    "link-local": _one("fe80::1", "fe80::1%eth#", "224.0.0.#", "169.254.1.#", "ff02::1"),
    "url without credentials": _one(
        "https://example.com/@anna",
        "http://example.com/a?x=a:b@c#",
        "postgres://localhost:5432/shop",
        "https://${USER}:${PASS}@example.com",
        "https://<user>:<password>@example.com",
        "redis://cache:6379/#",
    ),
    "numbers in a row": _one("0.1 0.2 0.3 0.#", "12 15 18 21 24 2#", "1 2 3 4 5 6 7 8 9 1#", "52.520008, 13.40495#"),
    "part of a product": _one("AB-123-45-67#", "SKU 4006381333931", "X1234567A#", "P/N 811228-98", "EAN 96385074"),
    "counter": _one("111222333 rows", "44051401359 bytes", "86095742719 ns", "12345678 hits", "9434765919 ticks"),
    "port and code": _one("HTTP 404", "port 5432", "errno 110", "ORA-00942", "CVE-2024-1234#", "RFC 9110", "E0277-12"),
}
_AROUND_PERSONAL: Final = (
    (
        "The customer can be reached at {}.",
        "{} wrote again this morning about the invoice",
        "contact = '{}'  # from the ticket",
        "The test of checkout failed with {} as the input, and passed without.",
        "- seen in the log of Tuesday: {}, twice",
    ),
    (
        "Found {} in the export, which should not have been there.",
        'send(to="{}", retries=3)',
        "Ask before using ({}): it belongs to a person.",
        "Der Kunde nannte {} als seine Angabe.",
        "owner: {}\nstate: open",
    ),
)
_AROUND_LOOK_ALIKES: Final = (
    (
        "The build stopped at {} and nothing else was said.",
        "We rolled back to {} on Tuesday.",
        "value = '{}'  # as before",
        "- {} was seen twice in the log",
        "See {} for the reason of the retry.",
    ),
    (
        "After the upgrade {} is what the dashboard shows.",
        'check("{}", strict=True)',
        "It should read {}, and does.",
        "Seit dem Umbau steht dort {}.",
        "found: {}\nstate: done",
    ),
)
