"""A data folder made by `openbrain up` of an earlier version, at schema revision 0006.

It has five memories (one superseded, one forgotten), a signal, three keys, a text index and the streams. Its vector
index is left out: 130 MB of mostly empty pages.
"""

import tarfile
from pathlib import Path

REVISION = "0006"
INDEXES = frozenset({"openbrain-text-1", "openbrain-vectors-all-minilm-l6-v2-int8-8199be6f699a-384-p1s1"})
LIVING = {
    "01a210b3-0648-7018-bf92-579688f3e12c": "The cache key must hold the tenant.",
    "01a210b3-5d04-798a-a987-f49a6dc371e6": "Invoices are numbered without gaps, per tenant and year.",
    "01a210b3-ef88-7092-a872-2d755020616f": "Deploys go out on Wednesdays.",
}
NEWEST = next(reversed(LIVING))
ENDED = {
    "01a210b3-b4b1-7c29-a4f8-485679e52e36": ("superseded", "Deploys go out on Tuesdays."),
    "01a210b4-501a-729f-b70d-21ccd41523fc": ("forgotten", "The old queue server is called mulberry."),
}
SIGNAL = ("01a210b4-fe5a-7e1b-b76e-173e555f57df", "The payment provider answers slowly")
KEYS = frozenset({"01a210b2-55c8-700c-913e-d3833dc50073", "01a210b5-f4e9-716d-ab8f-4666df6b3fa4"})
"""Keys of workspace `default`."""


def unpack_older_folder(folder: Path) -> Path:
    """Unpack the data folder with its original permissions."""
    with tarfile.open(Path(__file__).with_suffix(".tar.gz")) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4 and later
        archive.extractall(folder)
    return folder
