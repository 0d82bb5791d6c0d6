"""[[Links]] and #tags in notes: read from the prose, which is left unchanged."""

import re

from openbrain_cli.importers.markdown.file_references import prose

MAX_LINKS = 50
_LINK = re.compile(r"\[\[([^\]|#^\n]{1,200})")
_TAG = re.compile(r"(?:^|(?<=[\s(,;]))#(?P<tag>[^\W\d_][\w/-]*|[\w/-]*[^\W\d][\w/-]*)")


def wikilinks(text: str) -> tuple[str, ...]:
    """The notes that a text links to, each once; [[Note|shown]], [[Note#heading]] and ![[Note]] all link to Note."""
    links = (match.strip() for _, line in prose(text) for match in _LINK.findall(line))
    return tuple(dict.fromkeys(link for link in links if link))[:MAX_LINKS]


def inline_tags(text: str) -> tuple[str, ...]:
    """The #tags of a text, without the #; a mere number is not a tag."""
    tags = (match["tag"].strip("/-") for _, line in prose(text) for match in _TAG.finditer(line))
    return tuple(dict.fromkeys(tag for tag in tags if tag))
