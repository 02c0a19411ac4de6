"""The frontier: what may be crawled, and why not. The service is `service.Frontier`."""
