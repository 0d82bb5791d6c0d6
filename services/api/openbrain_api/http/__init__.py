"""HTTP: requests read and checked once, answers and refusals written; nothing here knows what a route is about."""
