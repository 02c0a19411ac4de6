"""What two or more services share: records, topics, and one edge module per outside client."""
