"""`make k8s-secrets`: write a file for each secret of an overlay; existing files are kept.

Reads `passwords`, which `openbrain acl --write FOLDER` writes into the same folder: one user and password per line.
"""

import argparse
import os
import re
import secrets
import string
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, urlsplit

SCALER = "scaler"
LENGTH = 32
_LETTERS = string.ascii_letters + string.digits
"""No other characters, because passwords are part of URLs."""
REDIS = "redis://redis:6379/0"


def random_password() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(LENGTH))


def of_users(passwords: Mapping[str, str], redis: str) -> dict[str, dict[str, str]]:
    """A secret for each Redis user: its URL, or for the scaler the parts of the URL."""
    parts = urlsplit(redis)
    made = {
        user: {"OPENBRAIN_STREAMS__URL": parts._replace(netloc=f"{user}:{password}@{parts.netloc}").geturl()}
        for user, password in passwords.items()
    }
    if SCALER in passwords:
        tls = "enable" if parts.scheme.startswith("rediss") else "disable"
        own = {"address": _with_ports(parts), "username": SCALER, "password": passwords[SCALER], "tls": tls}
        made[SCALER] = own | (_of_sentinels(parts) if parts.scheme.endswith("+sentinel") else {})
    return made


def _with_ports(parts: SplitResult) -> str:
    """The servers as KEDA takes them: it knows no default port."""
    port = 26379 if parts.scheme.endswith("+sentinel") else 6379
    return ",".join(each if re.search(r":\d+$", each) else f"{each}:{port}" for each in parts.netloc.split(","))


def _of_sentinels(parts: SplitResult) -> dict[str, str]:
    """Names and credentials of Sentinels for KEDA's trigger."""
    said = dict(parse_qsl(parts.query))
    return {
        "sentinelMaster": parts.path.strip("/").partition("/")[0],
        "sentinelUsername": said.get("sentinel_username", ""),
        "sentinelPassword": said.get("sentinel_password", ""),
    }


def of_servers() -> dict[str, dict[str, str]]:
    """Random credentials of the servers, and the same for their clients."""
    mariadb, elastic, qdrant = random_password(), random_password(), random_password()
    return {
        "mariadb": {"OPENBRAIN_TRUTH__URL": f"mysql+aiomysql://openbrain:{mariadb}@mariadb/openbrain"},
        "mariadb-server": {"MARIADB_PASSWORD": mariadb},
        "elasticsearch": {"OPENBRAIN_TEXT__URL": f"http://elastic:{elastic}@elasticsearch:9200"},
        "elasticsearch-server": {"ELASTIC_PASSWORD": elastic},
        "qdrant": {"OPENBRAIN_VECTORS__API_KEY": qdrant},
        "qdrant-server": {"QDRANT__SERVICE__API_KEY": qdrant},
        "metrics": {"OPENBRAIN_SERVER__METRICS_TOKEN": random_password()},
    }


def write(folder: Path, made: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Write each missing `NAME.env`, readable by its owner only, and return the names of the new ones."""
    new = [name for name in made if not (folder / f"{name}.env").exists()]
    for name in new:
        descriptor = os.open(folder / f"{name}.env", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("".join(f"{key}={value}\n" for key, value in made[name].items()))
    return new


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="Folder with the file `passwords`, to which the secrets are written.")
    parser.add_argument("--redis", default=REDIS, help=f"URL of Redis without user and password (default: {REDIS})")
    asked = parser.parse_args()
    if "@" in urlsplit(asked.redis).netloc:
        parser.error("--redis: leave user and password out, because each service has its own")
    passwords = asked.folder / "passwords"
    if not passwords.exists():
        parser.error(f"{passwords} does not exist: run `openbrain acl --write {asked.folder}` first")
    users = dict(line.split(maxsplit=1) for line in passwords.read_text(encoding="utf-8").splitlines())
    # The secrets of a server and of its clients contain the same password: make both or neither.
    servers = of_servers()
    known = {name for name in servers if (asked.folder / f"{name.removesuffix('-server')}.env").exists()}
    made = of_users(users, asked.redis) | {name: each for name, each in servers.items() if name not in known}
    new = write(asked.folder, made)
    print(f"{asked.folder}: {', '.join(new)} made" if new else f"{asked.folder} has every secret: nothing was changed")


if __name__ == "__main__":
    main()
