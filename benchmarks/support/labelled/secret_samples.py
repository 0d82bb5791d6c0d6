"""A labelled set of texts for the detection of secrets: 300 with a secret, 300 with a similar value.

Each is a memory as an agent would write it, in prose or code, around a generated value: no value is in use anywhere,
and none is in this file. The set is the same every time. `HALVES` splits it: the first half was fixed before a detector
was chosen, and a test checks the digest of each half.
"""

import base64
import hashlib
import random
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

SEED: Final = 20261124
EACH: Final = 10
HALVES: Final = ("first", "second")
_ALNUM = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + "234567"
_HEX = "0123456789abcdef"
Make = Callable[[random.Random], str]


@dataclass(frozen=True, slots=True)
class Sample:
    """A text, the value in it, and its kind. `secret`: it must not be stored unchanged."""

    kind: str
    text: str
    value: str
    secret: bool
    half: str


def samples() -> Sequence[Sample]:
    """All samples."""
    made = []
    for secret, kinds, contexts in ((True, _SECRETS, _AROUND_SECRETS), (False, _LOOK_ALIKES, _AROUND_LOOK_ALIKES)):
        for kind, make in kinds.items():
            source = random.Random(f"{SEED} {kind}")
            for number in range(EACH):
                value = make(source)
                text = value if "\n" in value or " " in value else source.choice(contexts).format(value)
                made.append(Sample(kind, text, value, secret, HALVES[number % 2]))
    return made


def digest(made: Sequence[Sample], half: str) -> str:
    """The digest of one half; another value means that the set was changed."""
    texts = "\0".join(f"{each.secret} {each.text}" for each in made if each.half == half)
    return hashlib.sha256(texts.encode()).hexdigest()


def _of(letters: str, count: int) -> Make:
    return lambda source: "".join(source.choices(letters, k=count))


def _after(prefix: str, letters: str, count: int) -> Make:
    return lambda source: prefix + _of(letters, count)(source)


def _password(source: random.Random) -> str:
    letters = [*source.choices(string.ascii_letters, k=9), *source.choices(string.digits, k=3), source.choice("!%+=^~")]
    source.shuffle(letters)
    return "".join(letters)


def _jwt(source: random.Random) -> str:
    def part(text: str) -> str:
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    name = _of(_ALNUM, 12)(source)
    head, body = (
        part('{"alg":"HS256","typ":"JWT"}'),
        part(f'{{"sub":"{name}","iat":{source.randrange(10**9, 2 * 10**9)}}}'),
    )
    return f"{head}.{body}.{_of(_ALNUM + '-_', 43)(source)}"


def _private_key(kind: str) -> Make:
    def make(source: random.Random) -> str:
        lines = "\n".join(_of(_ALNUM + "+/", 64)(source) for _ in range(source.randint(6, 14)))
        return f"The key of the host:\n-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----\n"

    return make


def _url(scheme: str, port: int) -> Make:
    def make(source: random.Random) -> str:
        user, host = (
            source.choice(("app", "shop", "svc_billing", "admin")),
            source.choice(("db.internal", "10.0.3.7", "cache")),
        )
        return f"{scheme}://{user}:{_of(_ALNUM, source.randint(12, 24))(source)}@{host}:{port}/shop"

    return make


def _aws_pair(source: random.Random) -> str:
    return (
        f"aws_access_key_id = AKIA{_of(_UPPER, 16)(source)}\naws_secret_access_key = {_of(_ALNUM + '+/', 40)(source)}\n"
    )


def _assigned(*names: str) -> Make:
    def make(source: random.Random) -> str:
        name, quote = source.choice(names), source.choice(("'", '"'))
        form = source.choice(
            ("{0} = {2}{1}{2} # of staging", "export {0}={2}{1}{2} && make", "{0}: {2}{1}{2} in values.yaml")
        )
        return form.format(name, _of(_ALNUM, source.randint(24, 40))(source), quote)

    return make


def _password_assigned(source: random.Random) -> str:
    name = source.choice(("DB_PASSWORD", "password", "admin_password", "SMTP_PASSWORD"))
    return source.choice(
        ('{} = "{}" on the staging host', "{}={} in the env file", '"{}": "{}", in config.json')
    ).format(name, _password(source))


def _azure_storage(source: random.Random) -> str:
    key = base64.b64encode(source.randbytes(64)).decode()
    account = f"AccountName=shop{source.randrange(99)};AccountKey={key}"
    return f"Connect with DefaultEndpointsProtocol=https;{account};EndpointSuffix=core.windows.net"


def _slack_hook(source: random.Random) -> str:
    parts = (_of(_UPPER, 8)(source), _of(_UPPER, 10)(source), _of(_ALNUM, 24)(source))
    return "https://hooks.slack.com/services/T{}/B{}/{}".format(*parts)


def _basic_auth(source: random.Random) -> str:
    pair = base64.b64encode(f"svc:{_password(source)}{_password(source)}".encode()).decode()
    return f'curl -H "Authorization: Basic {pair}" https://ci.internal/job'


def _bearer(source: random.Random) -> str:
    return f'curl -H "Authorization: Bearer {_of(_ALNUM, 40)(source)}" https://api.internal/v1/orders'


def _sendgrid(source: random.Random) -> str:
    return f"SG.{_of(_ALNUM + '-_', 22)(source)}.{_of(_ALNUM + '-_', 43)(source)}"


def _slack_bot(source: random.Random) -> str:
    digits = string.digits
    return f"xoxb-{_of(digits, 12)(source)}-{_of(digits, 12)(source)}-{_of(_ALNUM, 24)(source)}"


_SECRETS: Final[dict[str, Make]] = {
    "aws key pair": _aws_pair,
    "github token": _after("ghp_", _ALNUM, 36),
    "github fine-grained token": lambda source: f"github_pat_{_of(_ALNUM, 22)(source)}_{_of(_ALNUM, 59)(source)}",
    "gitlab token": _after("glpat-", _ALNUM, 20),
    "slack bot token": _slack_bot,
    "slack webhook": _slack_hook,
    "stripe key": _after("sk_live_", _ALNUM, 24),
    "google api key": _after("AIza", _ALNUM + "-_", 35),
    "openai project key": lambda source: f"sk-proj-{_of(_ALNUM, 74)(source)}T3BlbkFJ{_of(_ALNUM, 74)(source)}",
    "anthropic key": lambda source: f"sk-ant-api03-{_of(_ALNUM + '-_', 93)(source)}AA",
    "npm token": _after("npm_", _ALNUM, 36),
    "pypi token": lambda source: f"pypi-AgEIcHlwaS5vcmc{_of(_ALNUM + '-_', 150)(source)}",
    "hugging face token": _after("hf_", string.ascii_letters, 34),
    "sendgrid key": _sendgrid,
    "digitalocean token": _after("dop_v1_", _HEX, 64),
    "shopify token": _after("shpat_", _HEX, 32),
    "openbrain key": _after("ob_", _ALNUM + "-_", 43),
    "rsa private key": _private_key("RSA "),
    "openssh private key": _private_key("OPENSSH "),
    "private key": _private_key(""),
    "postgres url": _url("postgresql", 5432),
    "mysql url": _url("mysql", 3306),
    "mongodb url": _url("mongodb", 27017),
    "redis url": _url("redis", 6379),
    "azure storage": _azure_storage,
    "json web token": _jwt,
    "bearer header": _bearer,
    "basic header": _basic_auth,
    "assigned api key": _assigned("API_KEY", "api_key", "SECRET_KEY", "client_secret", "AUTH_TOKEN", "access_token"),
    "assigned password": _password_assigned,
}


def _uuid(source: random.Random) -> str:
    digits = _of(_HEX, 32)(source)
    return "-".join((digits[:8], digits[8:12], f"4{digits[13:16]}", f"a{digits[17:20]}", digits[20:]))


def _code_reading_a_secret(source: random.Random) -> str:
    name = source.choice(("API_KEY", "DB_PASSWORD", "AUTH_TOKEN", "SECRET_KEY"))
    form = source.choice(
        (
            'The client reads os.environ["{0}"] and fails early without it.',
            "password = settings.{0}.get_secret_value()",
            "const token = process.env.{0} ?? loadFromVault()",
            "api_key: ${{{{ secrets.{0} }}}} in the workflow",
            'export {0}="$(op read op://shop/{0})"',
        )
    )
    return form.format(name)


def _placeholder(source: random.Random) -> str:
    name = source.choice(("api_key", "password", "DB_PASSWORD", "token"))
    value = source.choice(("<your-key-here>", "changeme", "xxxxxxxxxxxxxxxx", "${API_KEY}", "REPLACE_ME", "********"))
    return f'{name} = "{value}" stands in the example file'


_TOKENS: Final = (
    "Tokens expire after an hour; the refresh token lasts a day. Secrets come from the vault, never from the env."
)


def _prose(source: random.Random) -> str:
    return source.choice(
        (
            "The cache key must hold the tenant, or answers leak. The password policy asks for twelve characters.",
            _TOKENS,
            "The secret: keep the transaction short. Password resets go by mail; the key is idempotent.",
            "Authorization: bearer tokens are checked in the gateway, basic auth is off since March.",
            "Key: value pairs of the header are lower case. Token counts are estimated, not exact.",
            "We pass the api key as a header and not as a query parameter, so that logs do not hold it.",
        )
    )


def _public_key(source: random.Random) -> str:
    return f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{_of(_ALNUM + '+/', 43)(source)} ada@shop is the deploy key"


def _certificate(source: random.Random) -> str:
    lines = "\n".join(_of(_ALNUM + "+/", 64)(source) for _ in range(8))
    return f"The authority:\n-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"


def _public_pem(source: random.Random) -> str:
    lines = "\n".join(_of(_ALNUM + "+/", 64)(source) for _ in range(4))
    return f"Verify with\n-----BEGIN PUBLIC KEY-----\n{lines}\n-----END PUBLIC KEY-----\n"


def _lock_line(source: random.Random) -> str:
    return f"httpx==0.28.1 --hash=sha256:{_of(_HEX, 64)(source)} is in the lock file"


def _integrity(source: random.Random) -> str:
    return f'"integrity": "sha512-{base64.b64encode(source.randbytes(64)).decode()}", of left-pad'


def _image(source: random.Random) -> str:
    return f"image: registry.internal/shop@sha256:{_of(_HEX, 64)(source)} runs since Monday"


def _plain_url(source: random.Random) -> str:
    return source.choice(
        (
            "postgresql://db.internal:5432/shop is the replica",
            "redis://cache:6379/0 holds the sessions of the shop",
            "https://git.example.org/shop/api/-/merge_requests/{0}",
            "see https://example.org/docs/{0}?tab=keys#rotation",
            "postgresql://${{DB_USER}}:${{DB_PASSWORD}}@db/shop is how the chart writes it",
        )
    ).format(source.randrange(1000, 9999))


def _code(source: random.Random) -> str:
    return source.choice(
        (
            "def tokenise(text: str) -> list[str]: return re.findall(r'[a-z0-9_]+', text.lower())",
            "for key, value in sorted(headers.items()): signer.update(f'{key}:{value}'.encode())",
            "if token.kind is Kind.STRING and token.value == expected_password_field: return True",
            "SELECT api_key_id, secret_hash FROM api_keys WHERE revoked_at IS NULL",
            "assert response.json()['access_token_expires_in'] == 3600",
            "password_field = driver.find_element(By.NAME, 'password_confirmation')",
        )
    )


def _traceback(source: random.Random) -> str:
    address = _of(_HEX, 12)(source)
    return f"TimeoutError in <TokenCache object at 0x{address}>, line {source.randrange(10, 900)}, in refresh_token"


def _identifier(source: random.Random) -> str:
    words = ("memory", "vector", "index", "token", "secret", "session", "budget", "window", "stream", "consumer")
    return "".join(word.title() for word in source.sample(words, 5)) + "Factory"


def _base64_text(source: random.Random) -> str:
    words = " ".join(source.choices(("the", "cart", "holds", "prices", "in", "whole", "cents"), k=9))
    return base64.b64encode(words.encode()).decode()


def _arn(source: random.Random) -> str:
    return f"arn:aws:iam::{_of(string.digits, 12)(source)}:role/deploy-{source.randrange(99)}"


def _data_image(source: random.Random) -> str:
    return f"data:image/png;base64,iVBORw0KGgoAAAANSUhEUg{_of(_ALNUM + '+/', 80)(source)}"


def _named_hash(source: random.Random) -> str:
    return source.choice(("content_hash = '{}' of the row", 'etag: "{}" was sent', "commit {} broke it")).format(
        _of(_HEX, 40)(source)
    )


def _ulid(source: random.Random) -> str:
    return "01" + _of("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 24)(source)


def _path(source: random.Random) -> str:
    return f"/srv/shop/releases/{_of(string.digits, 14)(source)}/config/credentials/{_of(_HEX, 8)(source)}.yml.enc"


def _time(source: random.Random) -> str:
    day, hour, minute = source.randrange(10, 30), source.randrange(9), source.randrange(10, 59)
    return f"2026-11-{day}T0{hour}:{minute}:00.{_of(string.digits, 6)(source)}Z"


def _version(source: random.Random) -> str:
    major, minor, patch, candidate = (source.randrange(most) for most in (9, 99, 99, 9))
    return f"v{major}.{minor}.{patch}-rc.{candidate}+{_of(_HEX, 12)(source)}"


_LOOK_ALIKES: Final[dict[str, Make]] = {
    "commit hash": _of(_HEX, 40),
    "sha-256": _of(_HEX, 64),
    "md5": _of(_HEX, 32),
    "short hash": _of(_HEX, 8),
    "uuid": _uuid,
    "ulid": _ulid,
    "code that reads a secret": _code_reading_a_secret,
    "placeholder": _placeholder,
    "prose about secrets": _prose,
    "public ssh key": _public_key,
    "certificate": _certificate,
    "public key": _public_pem,
    "lock file": _lock_line,
    "integrity of a package": _integrity,
    "image digest": _image,
    "url without a password": _plain_url,
    "code": _code,
    "traceback": _traceback,
    "identifier": _identifier,
    "base64 of text": _base64_text,
    "arn": _arn,
    "data url": _data_image,
    "named hash": _named_hash,
    "path": _path,
    "number": _of(string.digits, 16),
    "time": _time,
    "version": _version,
    "trace id": lambda source: f"00-{_of(_HEX, 32)(source)}-{_of(_HEX, 16)(source)}-01",
    "address": lambda source: (
        f"{source.choice(('ada', 'ben', 'cy'))}.{_of(string.ascii_lowercase, 8)(source)}@example.org"
    ),
    "coordinates": lambda source: f"{source.uniform(-90, 90):.14f},{source.uniform(-180, 180):.14f}",
}
_AROUND_SECRETS: Final = (
    "The deploy script uses {} for the registry.",
    "It works with token {} only.",
    'client = Client("{}")',
    "export TOKEN={}",
    "Use `{}` in staging; it is rotated every month.",
    '{{"credential": "{}"}}',
)
_AROUND_LOOK_ALIKES: Final = (
    "The bug came with {} and went with the next release.",
    "Seen in the log: {} twice.",
    'assert row.id == "{}"',
    "expected={}",
    "Compare it with `{}` of the day before.",
    '{{"id": "{}", "state": "done"}}',
)
