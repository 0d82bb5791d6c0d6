"""Files of agents and note applications read as memories, one file a source."""
