"""Full text in this process, on tantivy."""

from openbrain.adapters.tantivy.index import TantivyText

__all__ = ["TantivyText"]
