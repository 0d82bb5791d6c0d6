"""An import planned, reported, and carried out through the API."""
