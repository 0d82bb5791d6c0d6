"""Readers of files of agents and note applications, one module per source."""
