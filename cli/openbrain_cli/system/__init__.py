"""Commands that start, check and describe OpenBrain."""
