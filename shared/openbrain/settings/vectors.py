"""Settings of the vector index."""

from typing import Any

from pydantic import Field

from openbrain.settings.groups import Group
from openbrain.settings.tuning import VectorsTuning


class Vectors(Group):
    """The vector index."""

    url: str = Field(
        "embedded", description="qdrant+http(s)://, elasticsearch+http(s)://, http(s):// (Qdrant) or `embedded`."
    )
    api_key: str = Field("", repr=False, description="Of the Qdrant server.")
    collection: str = Field("openbrain", description="First part of collection and alias names.")
    verify_tls: bool = Field(True, description="Whether certificates are checked.")
    collection_settings: dict[str, Any] = Field(
        default_factory=dict,
        description="What Qdrant's collections are made with, in its own words: `on_disk`, `quantization_config`, "
        "`shard_number`, `replication_factor` and others; see qdrant.md.",
    )
    tuning: VectorsTuning = VectorsTuning()
