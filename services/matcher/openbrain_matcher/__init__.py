"""The matcher service: new memories held against the standing queries of their workspace."""
