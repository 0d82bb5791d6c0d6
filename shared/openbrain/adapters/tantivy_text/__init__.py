"""Full text in this process, on tantivy."""

from openbrain.adapters.tantivy_text.index import TantivyText

__all__ = ["TantivyText"]
