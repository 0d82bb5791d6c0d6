"""Commands of operators on streams, consumer groups, dead letters and events."""
