"""How fresh a crawl stays for its budget, by policy (G1): `python -m benchmarks.freshness`."""
