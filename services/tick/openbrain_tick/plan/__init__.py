"""The plan of a tick, edited by pure phases in sequence. Nothing is written."""
