"""Embedding models in one table: prompts, window, dimensions, tokenizer.

Raise a model's `prompt_version` when its prompts change, and SPLITTER_VERSION when texts are split differently or their
header changes. Both are part of a vector's identity, so vectors of different versions never share an index.
"""

from dataclasses import dataclass

SPLITTER_VERSION = 2
MINILM = "all-minilm"
BGE = "bge-small-en-v1.5"
OLLAMA_DEFAULT = "embeddinggemma"

_SEARCH_SENTENCE = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model. The defaults are safe for an unknown model."""

    token_limit: int = 256
    """Maximum tokens per input, special ones included."""
    dimensions: int = 0
    """0 if it depends on the tag: then the model itself is asked."""
    query_prompt: str = ""
    document_prompt: str = ""
    wordpiece: bool = False
    """True if it uses BERT's uncased vocabulary: tokens are counted exactly; else they are estimated."""
    prompt_version: int = 1

    @property
    def word_chars(self) -> int:
        """Maximum characters of a word; longer ones are split. WordPiece reads a word of more than 100 letters as
        [UNK]; other tokenizers take time quadratic in its length."""
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
    """Return the name to compare Ollama's models by: '' is the default model, and `:latest` is dropped."""
    return (name or OLLAMA_DEFAULT).removesuffix(":latest")


def model(name: str) -> Model:
    """Return the entry for a name as a server spells it; its namespace and tag are ignored."""
    return MODELS.get(name.rpartition("/")[2].partition(":")[0].lower(), Model())
