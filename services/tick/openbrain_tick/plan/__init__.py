"""The plan of a tick: pure phases edit it, one after the other. Nothing is written."""
