"""`make env`: give each password that docker-compose.yml asks for a random one in .env; what stands there stays."""

import os
import re
import secrets
import string
from pathlib import Path

LENGTH = 32
_LETTERS = string.ascii_letters + string.digits
"""They stand in URLs."""


def asked_for(compose: str) -> list[str]:
    """The names that have no default."""
    return list(dict.fromkeys(re.findall(r"\$\{(\w+):\?", compose)))


def make_env(compose: Path, env: Path) -> list[str]:
    """Names that were added."""
    descriptor = os.open(env, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
        file.seek(0)
        text = file.read()
        known = set(re.findall(r"^\s*(?:export\s+)?(\w+)\s*=", text, re.MULTILINE))
        new = [name for name in asked_for(compose.read_text(encoding="utf-8")) if name not in known]
        lines = [f"{name}={''.join(secrets.choice(_LETTERS) for _ in range(LENGTH))}\n" for name in new]
        file.write(("\n" if new and text and not text.endswith("\n") else "") + "".join(lines))
    return new


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    added = make_env(root / "docker-compose.yml", root / ".env")
    print(f".env: {', '.join(added)} made" if added else ".env has every password already: nothing was changed")
