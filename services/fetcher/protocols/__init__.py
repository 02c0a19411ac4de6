"""Protocols by URL scheme: one class each, found by the entry point group `recrawl.protocols`."""

from services.fetcher.protocols.port import FetchFailed, Protocol, WireRequest, WireResponse

__all__ = ["FetchFailed", "Protocol", "WireRequest", "WireResponse"]
