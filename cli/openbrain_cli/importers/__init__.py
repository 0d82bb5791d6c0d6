"""Files that agents left behind, as memories: pure functions from files to `FoundMemory`, and on to a plan."""
