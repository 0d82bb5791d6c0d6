"""The tools over standard input and output."""
