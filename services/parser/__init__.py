"""The parser: what is in a fetched page, whether it changed, and what is kept of it."""
