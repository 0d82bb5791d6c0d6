"""The OpenAPI document, made from the route table."""
