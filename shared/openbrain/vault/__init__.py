"""A vault of Markdown files: what stands in them, read strictly and written whole."""
