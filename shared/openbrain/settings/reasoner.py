"""Settings of the model that a tick asks."""

from typing import Literal

from pydantic import Field

from openbrain.settings.groups import Group, Seconds

NONE = "none"


class Reasoner(Group):
    """The model that a tick asks, once, about the vault."""

    url: str = Field(
        NONE,
        description="http(s):// of a server with `chat/completions`, up to and with its version, as in "
        "http://127.0.0.1:11434/v1 of Ollama; `none`: ticks are deterministic.",
    )
    model: str = Field("", description="One that the server has.")
    api_key: str = Field("", repr=False, description="Sent as a bearer token.")
    timeout_s: Seconds = Field(120, description="Of the one call.")
    prompt_chars: int = Field(100_000, ge=2000, le=400_000, description="The prompt is cut to this many characters.")
    answer_tokens: int = Field(4096, ge=64, description="The answer is cut to this many tokens.")
    answer: Literal["schema", "json", "text"] = Field(
        "schema", description="How JSON is asked for: by a JSON Schema, as any object, or in words alone."
    )
    verify_tls: bool = Field(True, description="Whether certificates are checked.")
