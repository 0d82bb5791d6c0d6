"""The tools over HTTP: who may ask, one request answered, the API asked in process."""
