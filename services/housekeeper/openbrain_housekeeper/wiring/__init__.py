"""Parts put together from a container."""
