"""Searching by words, and what there is to search: the text index, checked against the truth."""
