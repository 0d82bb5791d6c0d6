"""Import of files that agents left: pure functions from files to `FoundMemory`, and from these to a plan."""
