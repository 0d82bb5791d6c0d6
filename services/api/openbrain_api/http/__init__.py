"""HTTP: read and validate requests, write responses and errors. Independent of what the routes do."""
