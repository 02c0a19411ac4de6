"""The `recrawl` command: one module per group of commands, put together in app.py."""
