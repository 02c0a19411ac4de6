"""Whether a page changed since what is stored of it.

Decides by the digests that the request carries, without a read. An incomplete body says
nothing, and never becomes what later bodies are compared with.
"""

from typing import NamedTuple

from services.common.records import FetchCompleted, FetchRequested


class Verdict(NamedTuple):
    """`changed` is None where there is nothing to compare with."""

    changed: bool | None
    stored_body: bytes | None
    """Digests of what is stored once this fetch is: what later fetches are compared with."""
    stored_text: bytes | None


def same_body(request: FetchRequested, body_digest: bytes) -> bool:
    """Equal octets: nothing needs to be read."""
    return request.body_digest is not None and request.body_digest == body_digest


def unchanged(request: FetchRequested) -> Verdict:
    """The verdict where the site or the octets say so."""
    return Verdict(changed=False, stored_body=request.body_digest, stored_text=request.text_digest)


def compare(
    fetch: FetchCompleted, body_digest: bytes, text_digest: bytes | None, *, complete: bool
) -> Verdict:
    """The verdict on a body that differs from the stored one.

    Equal text is no change, and the stored body stays what later ones are compared with; a page
    without text is judged by its body. `complete` is False for a body cut by the sender: another
    cut may fall elsewhere.
    """
    request = fetch.request
    if not complete:
        return Verdict(
            changed=None, stored_body=request.body_digest, stored_text=request.text_digest
        )
    if text_digest is not None and text_digest == request.text_digest:
        return unchanged(request)
    first = request.body_digest is None
    return Verdict(
        changed=None if first else True, stored_body=body_digest, stored_text=text_digest
    )
