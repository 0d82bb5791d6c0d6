"""What the REST API takes and gives, one file a resource; the OpenAPI document is made of these models."""
