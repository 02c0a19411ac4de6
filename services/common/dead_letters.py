"""What a record that cannot be used looks like on `dead-letters`. Sends nothing itself."""

from services.common import records
from services.common.errors import DeadLetter
from services.common.kafka import Incoming

KEY_LIMIT = 10_000
DETAIL_LIMIT = 2_000


def letter(
    message: Incoming, error: DeadLetter, *, service: str, now: float, limit: int
) -> records.DeadLetter:
    """The dead letter for `message`, cut so that its JSON stays within `limit` octets."""
    value = message.value
    # Octets become Base64 in JSON, four for three; a detail's characters take up to six.
    room = max(0, (limit - 1_000 - 6 * DETAIL_LIMIT - 2 * KEY_LIMIT) * 3 // 4)
    return records.DeadLetter(
        topic=message.topic.name,
        partition=message.partition,
        offset=message.offset,
        key=None if message.key is None else message.key[:KEY_LIMIT],
        value=None if value is None else value[:room],
        value_size=len(value or b""),
        reason=error.reason,
        detail=error.detail[:DETAIL_LIMIT],
        service=service,
        at=now,
    )
