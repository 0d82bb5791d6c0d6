"""A model's answer: parsed item by item, and each item checked against the vault."""
