"""A server far away, spoken to over its REST API."""
