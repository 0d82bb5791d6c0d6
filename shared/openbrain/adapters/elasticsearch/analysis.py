"""The English analysis of texts: the words of the embedded text index, so that both find the same.

Elasticsearch's own keeps `config.yaml`, `snake_case` and `192.168.0.1` as single words, and stems by Porter's first
rules.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from openbrain.domain.text.unicode_ranges import IDEOGRAPH, character_class

_IDEOGRAPH = re.sub(r"\\U(\w{8})", r"\\x{\1}", character_class(IDEOGRAPH))
_ALPHANUMERIC = r"[\p{IsAlphabetic}\p{N}]"

ENGLISH: Final[Mapping[str, Any]] = {
    # This name is found before the built-in analyzer of the same name.
    "analyzer": {
        "english": {
            "type": "custom",
            "tokenizer": "words",
            "filter": ["shorter_words", "lowercase", "stop_words", "contractions", "stems"],
        }
    },
    "tokenizer": {
        "words": {
            "type": "pattern",
            "pattern": f"[{_IDEOGRAPH}&&{_ALPHANUMERIC}]|[{_ALPHANUMERIC}&&[^{_IDEOGRAPH}]]+",
            "group": 0,
        }
    },
    "filter": {
        "shorter_words": {"type": "length", "max": 254},
        "stop_words": {"type": "stop", "stopwords": "_english_"},
        # What is left of `it's` and `don't`.
        "contractions": {"type": "stop", "stopwords": ["s", "t"]},
        "stems": {"type": "stemmer", "language": "porter2"},
    },
}
"""The `analysis` of an index's settings. An index that was made with another one keeps it until the next reindex: its
documents are the same, and questions are divided as its texts are."""
