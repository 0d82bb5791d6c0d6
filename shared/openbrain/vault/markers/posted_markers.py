"""Where and how the posts of agents are written into a vault: as markers, which are treated like any other."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from openbrain.domain.errors import Invalid, NotFound
from openbrain.domain.times import to_iso
from openbrain.vault.files.changes import Change, sha256
from openbrain.vault.files.folder import Folder
from openbrain.vault.front_matter.document import read
from openbrain.vault.markers import markers
from openbrain.vault.markers.redaction import quotable, quotable_line, quotable_title
from openbrain.vault.pages.arc_parsing import RESOLVED, SEVERITIES
from openbrain.vault.values import Marker

TYPES: Final = ("lesson", "milestone", "signal", "decision")
MOST_ATTRS: Final = 20
ATTR_CHARS: Final = 500
_OWN: Final = ("severity", "source", "session", "session_id", "ts", "key")
_FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}")
_SIGNAL_PAGE = re.compile(r"amygdala/\d{8}T\d{6}Z-[a-z]+-[^/]*-[0-9a-f]{8}\.md", re.ASCII)
_ADR = re.compile(r"left/decisions/ADR-(\d{4,9})-[^/]*\.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A posted marker: `type` is one of TYPES, `at` when it was first posted (microseconds)."""

    type: str
    content: str
    attrs: Mapping[str, str]
    at: int

    @property
    def source(self) -> str:
        """The author in one line, for people and for the identity of a signal."""
        return quotable_line(self.attrs.get("source", ""), 100).replace('"', "'") or "unknown"

    @property
    def session(self) -> str:
        """The session that it was posted from; '' if unknown."""
        session = self.attrs.get("session_id", "") or self.attrs.get("session", "")
        return quotable_line(session, 100).replace('"', "'")

    @property
    def severity(self) -> str:
        """Severity of a signal; an unknown one counts as a warning."""
        severity = self.attrs.get("severity", "").strip().lower()
        return severity if severity in {*SEVERITIES, RESOLVED} else "warning"

    @property
    def text(self) -> str:
        """The content for the page: credentials redacted, and unable to end its marker or reach beyond it."""
        return markers.contained(quotable(self.content))

    @property
    def title(self) -> str:
        """The first line of the text."""
        return quotable_title(self.text.partition("\n")[0].lstrip("#> -*"), 80) or self.type


def path_of(folder: Folder, post: Post) -> str:
    """Path of the page for a post; the page may already exist."""
    day = to_iso(post.at)[:10]
    if post.type == "lesson":
        return f"left/reference/lessons-{day}.md"
    if post.type == "milestone":
        project = f"left/projects/{post.source}"
        own = _FOLDER_NAME.fullmatch(post.source) is not None and folder.is_folder(project)
        return f"{project}/BLOCKS.md" if own else f"daily/{day}.md"
    if post.type == "signal":
        stamp = re.sub(r"[^0-9T]", "", to_iso(post.at)[:19])
        return f"amygdala/{stamp}Z-{post.severity}-{slug(post.title)}-{_short(post)}.md"
    numbers = [int(match[1]) for entry in folder.walk("left/decisions") if (match := _ADR.fullmatch(entry.path))]
    return f"left/decisions/ADR-{max(numbers, default=0) + 1:04}-{slug(post.title)}.md"


def is_signal_page(path: str) -> bool:
    """True if the path is that of a page made for one posted signal."""
    return _SIGNAL_PAGE.fullmatch(path) is not None


def change_of(folder: Folder, post: Post, path: str) -> tuple[Change, bool]:
    """The change that writes a post, and whether its page existed before. If the page already contains the post, the
    change has no effect."""
    for name in _names(post, path):
        try:
            text = folder.read(name)
        except NotFound:
            text = None
        except Invalid:  # too large, or not text: use another page
            continue
        block = _block(post)
        if text is not None and block in text:
            return Change(name, sha256(text.encode()), text.encode()), True
        after = f"{_new_page(post, name)}\n{block}" if text is None else f"{text.rstrip()}\n\n{block}"
        if len(after.encode()) <= folder.max_bytes and _stands(after, name, post):
            return Change(name, None if text is None else sha256(text.encode()), after.encode()), text is not None
    raise Invalid("content", "can't be put into the vault: its page can't be read; mend that first")


def place_of(folder: Folder, post: Post, path: str) -> str:
    """The page that contains a post which was written before; `path` if none does, because it was edited since."""
    for name in _names(post, path):
        with suppress(NotFound, Invalid):
            if _block(post) in folder.read(name):
                return name
    return path


def _names(post: Post, path: str) -> tuple[str, str]:
    """The page for a post, and the one to use if that can't take it."""
    return path, f"{path.removesuffix('.md')}-{_short(post)}.md"


def slug(title: str) -> str:
    """A title as part of a file name, at most 40 characters."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40].strip("-") or "untitled"


def _short(post: Post) -> str:
    return sha256(f"{post.type}\n{post.at}\n{post.content}".encode())[:8]


def _new_page(post: Post, path: str) -> str:
    """The front matter and heading of a new page."""
    day = to_iso(post.at)[:10]
    values: dict[str, str] = {"created": to_iso(post.at)}
    if post.type == "signal":
        status = RESOLVED if post.severity == RESOLVED else "active"
        values |= {"region": "amygdala", "status": status, "severity": post.severity}
    if post.type == "decision" and (number := _ADR.fullmatch(path)):
        values |= {"id": f"ADR-{number[1]}", "status": "accepted"}
    titles = {"lesson": f"Lessons of {day}", "milestone": f"Milestones of {day}"}
    title = titles.get(post.type, post.title)
    front = read("", "").front.with_values({"title": title, **values})
    return f"{front.whole()}\n# {title}\n"


def _block(post: Post) -> str:
    origin = " — ".join(part for part in (to_iso(post.at)[:19] + "Z", post.source, post.session) if part)
    return f"## {origin}\n\n{markers.render(_marker(post))}\n"


def _marker(post: Post) -> Marker:
    own = {"severity": post.severity} if post.type == "signal" else {}
    own |= {"source": post.source}
    own |= {"session": post.session} if post.session else {}
    others = {
        key: value
        for key, given in post.attrs.items()
        if key not in _OWN
        and re.fullmatch(r"[A-Za-z0-9_]{1,64}", key)
        and (value := quotable_line(given, ATTR_CHARS).replace('"', "'"))
    }
    return Marker(post.type, own | dict(list(others.items())[:MOST_ATTRS]), post.text, block=True)


def _stands(text: str, path: str, post: Post) -> bool:
    """True if the post's marker can be parsed from the page: an unclosed fence could hide it."""
    page = read(text, path)
    wanted = _marker(post).identity
    return any(marker.identity == wanted for marker in markers.parse(page.body, path, page.body_line).markers)
