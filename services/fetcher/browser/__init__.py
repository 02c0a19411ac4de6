"""Pages as a browser makes them: a module that a host's rule chooses. Needs `recrawl[browser]`."""
