"""What makes a whole crawl run on one machine: engines, supervisor, demo web."""
