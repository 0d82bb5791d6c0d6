"""What the routes take: bodies and query strings, a module for each part of the API."""
