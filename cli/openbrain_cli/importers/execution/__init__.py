"""Planning, reporting and executing an import through the API."""
