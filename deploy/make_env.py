"""`make env`: write a random value for each password that docker-compose.yml requires, and the profiles, into .env.

Existing lines are kept; a password without a value gets one in a new line. `make env PROFILES=core,observe` selects
other profiles than `brain`.
"""

import os
import re
import secrets
import string
import sys
from pathlib import Path

LENGTH = 32
_LETTERS = string.ascii_letters + string.digits
"""No other characters, because passwords are part of URLs."""
_EMPTY = re.compile(r"(?:''|\"\")?\s*(?:#.*)?")
"""A value that Compose refuses as missing; of several lines with a name it takes the last."""


def asked_for(compose: str) -> list[str]:
    """The variables without a default."""
    return list(dict.fromkeys(re.findall(r"\$\{(\w+):\?", compose)))


def profiles_chosen(profiles: str) -> dict[str, str]:
    """The profiles; without `brain` also no vaults, because ticks would be requested that nothing runs."""
    vaultless = {} if "brain" in profiles.split(",") else {"OPENBRAIN_VAULTS__FOLDERS": "{}"}
    return {"COMPOSE_PROFILES": profiles, **vaultless}


def make_env(compose: Path, env: Path, profiles: str = "brain") -> list[str]:
    """Add missing variables to `env` and return their names."""
    asked = asked_for(compose.read_text(encoding="utf-8"))
    passwords = {name: "".join(secrets.choice(_LETTERS) for _ in range(LENGTH)) for name in asked}
    descriptor = os.open(env, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    os.fchmod(descriptor, 0o600)  # also a file that was there before it held passwords
    with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
        file.seek(0)
        text = file.read()
        given = dict(re.findall(r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*=[ \t]*(.*)$", text, re.MULTILINE))
        chosen = {} if "COMPOSE_PROFILES" in given else profiles_chosen(profiles)
        new = {name: value for name, value in passwords.items() if _EMPTY.fullmatch(given.get(name, ""))}
        new |= {name: value for name, value in chosen.items() if name not in given}
        lines = [f"{name}={value}\n" for name, value in new.items()]
        file.write(("\n" if new and text and not text.endswith("\n") else "") + "".join(lines))
    return list(new)


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    added = make_env(root / "docker-compose.yml", root / ".env", *sys.argv[1:])
    print(f".env: {', '.join(added)} made" if added else ".env has every password already: nothing was changed")
