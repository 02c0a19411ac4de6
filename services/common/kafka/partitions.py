"""Which partition a key belongs to: Kafka's murmur2, for who chooses partitions himself.

As in the Java client, in librdkafka's `murmur2_random` and in Faust, so that a key that is looked
up here and one that is left to a producer meet in one partition.
"""

_MASK = 0xFFFF_FFFF
_M = 0x5BD1_E995
_SEED = 0x9747_B28C
_POSITIVE = 0x7FFF_FFFF


def partition_of(key: str, count: int) -> int:
    """The partition of `key` in a topic that has `count` of them."""
    return (_murmur2(key.encode()) & _POSITIVE) % count


def _murmur2(data: bytes) -> int:
    mixed = _SEED ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        word = (word ^ word >> 24) * _M & _MASK
        mixed = mixed * _M & _MASK ^ word
    if whole < len(data):
        mixed = (mixed ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    mixed = (mixed ^ mixed >> 13) * _M & _MASK
    return mixed ^ mixed >> 15
