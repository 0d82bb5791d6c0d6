"""The tools over HTTP: access checks, answering a request, calling the API in process."""
