"""The tools over HTTP: access checks, request handling, and calls of the API in process."""
