"""What makes a scheduler know URLs (again): from Cassandra's rows, or from a file."""
