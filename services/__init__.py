"""Recrawl: four services joined only by Kafka topics, and the command line that runs them."""
