"""The matcher service: compares new memories with the standing queries of their workspace."""
