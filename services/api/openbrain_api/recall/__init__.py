"""Recall: hits of two indexes, combined into one answer."""
