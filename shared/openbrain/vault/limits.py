"""Limits of a vault's file. Beyond them a file is reported and left as it is."""

FILE_BYTES = 4 * 1024 * 1024
FRONT_CHARS = 64 * 1024
FRONT_NODES = 10_000
FRONT_DEPTH = 16
MARKERS = 10_000
MARKER_DEPTH = 16
PROBLEMS = 100
FOLDER_DEPTH = 32
CHANGES = 100_000
