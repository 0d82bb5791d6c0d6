"""A vault of Markdown files: strict parsing, atomic writing."""
