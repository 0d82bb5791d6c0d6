"""Embedding models, in one table: prompts, window, dimensions, tokenizer.

A change of a prompt raises `prompt_version` of that model, a change of how texts are cut, or of the
header before them, raises SPLITTER_VERSION: both
are part of a vector's identity, so that old and new vectors never meet in one index.
"""

from dataclasses import dataclass

SPLITTER_VERSION = 2
MINILM = "all-minilm"
BGE = "bge-small-en-v1.5"
OLLAMA_DEFAULT = "embeddinggemma"

_SEARCH_SENTENCE = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model. The defaults are safe for one that nobody knows."""

    token_limit: int = 256
    """Tokens that it reads at once, special ones included."""
    dimensions: int = 0
    """0 where it depends on the tag: the model itself is asked."""
    query_prompt: str = ""
    document_prompt: str = ""
    wordpiece: bool = False
    """Whether its tokens are those of BERT's uncased vocabulary, and so counted exactly; else they are estimated."""
    prompt_version: int = 1

    @property
    def word_chars(self) -> int:
        """The longest word it is given. WordPiece knows a word of more than 100 letters as [UNK]; other tokenizers
        take a time that grows with the square of a word's length."""
        return 100 if self.wordpiece else 512


def _e5(dimensions: int, *, wordpiece: bool) -> Model:
    return Model(
        token_limit=512,
        dimensions=dimensions,
        query_prompt="query: ",
        document_prompt="passage: ",
        wordpiece=wordpiece,
    )


MODELS: dict[str, Model] = {
    MINILM: Model(token_limit=256, dimensions=384, wordpiece=True),
    BGE: Model(token_limit=256, dimensions=384, query_prompt=_SEARCH_SENTENCE, wordpiece=True),
    "embeddinggemma": Model(
        token_limit=2048,
        dimensions=768,
        query_prompt="task: search result | query: ",
        document_prompt="title: none | text: ",
    ),
    "nomic-embed-text": Model(
        token_limit=2048,
        dimensions=768,
        query_prompt="search_query: ",
        document_prompt="search_document: ",
        wordpiece=True,
    ),
    "nomic-embed-text-v2-moe": Model(
        token_limit=512, dimensions=768, query_prompt="search_query: ", document_prompt="search_document: "
    ),
    "bge-m3": Model(token_limit=2048, dimensions=1024),
    "bge-large": Model(token_limit=512, dimensions=1024, query_prompt=_SEARCH_SENTENCE, wordpiece=True),
    "mxbai-embed-large": Model(token_limit=512, dimensions=1024, query_prompt=_SEARCH_SENTENCE, wordpiece=True),
    "snowflake-arctic-embed": Model(token_limit=512, query_prompt=_SEARCH_SENTENCE, wordpiece=True),
    "snowflake-arctic-embed2": Model(token_limit=2048, query_prompt="query: "),
    "e5-small-v2": _e5(384, wordpiece=True),
    "e5-base-v2": _e5(768, wordpiece=True),
    "e5-large-v2": _e5(1024, wordpiece=True),
    "multilingual-e5-small": _e5(384, wordpiece=False),
    "multilingual-e5-base": _e5(768, wordpiece=False),
    "multilingual-e5-large": _e5(1024, wordpiece=False),
}


def server_name(name: str) -> str:
    """The name by which Ollama's models are compared: '' is the default, and `:latest` goes without saying."""
    return (name or OLLAMA_DEFAULT).removesuffix(":latest")


def model(name: str) -> Model:
    """The entry of `name` as a server spells it: a namespace before it and a tag behind it don't matter."""
    return MODELS.get(name.rpartition("/")[2].partition(":")[0].lower(), Model())
