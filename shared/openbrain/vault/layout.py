"""Initial folders and README of a new vault. A tick creates missing folders when it writes to them."""

from typing import Final

FOLDERS: Final = (
    "clusters",
    "frontal-lobe/conscious",
    "frontal-lobe/unconscious",
    "amygdala",
    "pineal",
    "bridge",
    *(f"left/{name}" for name in ("projects", "research", "reference", "incidents", "decisions")),
    *(f"right/{name}" for name in ("ideas", "strategy", "life", "creative", "risk")),
    "daily",
    "raw/inbox",
    "brain-feed",
)
README: Final = "README.md"
# Not in brain-feed: clients publish every page in that folder.
README_TEXT: Final = """# A vault

| folder | what lies there |
|---|---|
| clusters/ | arcs, by the day on which they were made |
| frontal-lobe/ | references to arcs that are hot (conscious) or were (unconscious) |
| amygdala/ | incidents |
| pineal/ | breakthroughs |
| left/, right/, bridge/ | what has cooled down: technical, creative, both |
| raw/inbox/ | put pages here: the next tick files them |
| brain-feed/ | what agents read; written by the tick alone |

Every page is yours to edit: a tick changes only the lines that it has to.
"""
