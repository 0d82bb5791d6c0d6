"""Pages for raw/inbox, which the next tick files by their tags."""

import re
from collections.abc import Sequence
from typing import Final

from openbrain.domain.times import to_iso
from openbrain.vault.front_matter.document import read
from openbrain.vault.markers.posted_markers import slug
from openbrain.vault.markers.redaction import quotable_line, quotable_title

INBOX: Final = "raw/inbox"
ATTACHMENTS: Final = "raw/attachments"
_TAG = re.compile(r"(?<![\w&/])#([A-Za-z][\w-]{0,49})")
_ENDING = ("mitigates",)
"""Front matter keys that end signals raised by others."""
_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def title_of(text: str) -> str:
    """Title from the first line of the text; `Untitled` if there is none."""
    lines = text.strip().splitlines()
    return quotable_title(lines[0].lstrip("#> -*"), 80) or "Untitled" if lines else "Untitled"


def tags_of(text: str) -> list[str]:
    """Hashtags in order of appearance, in lower case, without duplicates, at most 20."""
    return list(dict.fromkeys(tag.lower() for tag in _TAG.findall(text)))[:20]


def path_of(title: str, at: int, batch: str) -> str:
    """Path of a new inbox page; `batch` distinguishes pages with the same title and time."""
    stamp = re.sub(r"[^0-9T]", "", to_iso(at)[:19])
    return f"{INBOX}/{stamp}Z-{slug(title)}-{batch[:8]}.md"


def page(title: str, tags: Sequence[str], body: str, at: int, source: str, *, may_resolve: bool) -> str:
    """The page with its front matter. If the body already has front matter, keep it and add the missing keys. Without
    `may_resolve`, drop the keys that end signals."""
    own = read(body, "")
    if own.front.broken:
        own = read("", "")
        text = body
    else:
        text = own.body
    words = [quotable_line(tag, 100) for tag in tags]
    values = {
        "title": quotable_line(title, 255),
        "tags": words,
        "source": quotable_line(source, 100),
        "created": to_iso(at),
    }
    ends = {} if may_resolve else dict.fromkeys(_ENDING)
    front = own.front.with_values(
        ends | {key: value for key, value in values.items() if value and key not in own.front}
    )
    return f"{front.whole()}\n{text.strip()}\n"


def attachment_path(batch: str, name: str) -> str:
    """Path of a file that is not a page."""
    plain = _NAME.sub("-", name.replace("\\", "/").rsplit("/", 1)[-1])[-100:].strip(".-")
    return f"{ATTACHMENTS}/{batch}/{plain or 'file'}"
