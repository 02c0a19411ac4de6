"""When a URL is crawled: a Faust application whose tables hold every known URL."""
