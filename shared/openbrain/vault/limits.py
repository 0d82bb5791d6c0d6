"""Limits for the files of a vault. A file that exceeds one is reported and not changed."""

FILE_BYTES = 4 * 1024 * 1024
FRONT_CHARS = 64 * 1024
FRONT_NODES = 10_000
FRONT_DEPTH = 16
MARKERS = 10_000
MARKER_DEPTH = 16
PROBLEMS = 100
FOLDER_DEPTH = 32
CHANGES = 100_000
