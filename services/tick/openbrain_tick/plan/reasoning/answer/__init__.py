"""A model's answer: read item by item, and each item held against what is known."""
