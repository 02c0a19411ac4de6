"""What a partition's last owner left on record, read before the partition's first record is.

What the marks mean is decided in marks.py. Called in the consumer's thread.
"""

import logging
import threading
import uuid
from collections.abc import Mapping

import confluent_kafka
from confluent_kafka import KafkaException, TopicPartition

from services.common import metrics
from services.common.kafka import marks
from services.common.kafka.committer import Committer
from services.common.kafka.hand import Hand, Place
from services.common.topics import Topic

_log = logging.getLogger(__name__)

ASK_WITHIN = 10.0


class TakeOver:
    """How one consumer begins with partitions that others had."""

    def __init__(
        self, topics: Mapping[str, Topic], hand: Hand, lock: threading.Lock, committer: Committer
    ) -> None:
        """`topics` by their name in Kafka; `lock` is held around every use of `hand`."""
        self._topics = topics
        self._hand = hand
        self._lock = lock
        self._committer = committer
        self._owner = uuid.uuid4().hex[:12]
        self._inherited: dict[Place, int] = {}
        """Where a partition ended that another let go, when it became ours."""

    def inherits(self, place: Place, offset: int) -> bool:
        """Whether the record lay in the partition when its last owner had let it go in order."""
        return offset < self._inherited.get(place, 0)

    def take(self, consumer: confluent_kafka.Consumer, assigned: list[TopicPartition]) -> None:
        """Read what the last owners left, and put ourselves on record there."""
        if not assigned:
            return
        places = [(each.topic, each.partition) for each in assigned]
        for place in places:
            self._inherited.pop(place, None)
        try:
            for left in consumer.committed(assigned, timeout=ASK_WITHIN):
                self._mark(consumer, left)
            self._committer.commit_now(consumer, places)
        except KafkaException as error:
            # Without it a death now is not counted; the commit is tried again.
            _log.warning("cannot tell how these partitions were left error=%s", error)

    def _mark(self, consumer: confluent_kafka.Consumer, left: TopicPartition) -> None:
        if left.error is not None:
            # Its offset is not known; taking it for none would begin from the first record.
            raise KafkaException(left.error)
        found = marks.read(left.metadata if left.offset >= 0 else None)
        base, end = left.offset, None
        if base < 0 or found.owner != self._owner:
            first, end = consumer.get_watermark_offsets(left, timeout=ASK_WITHIN)
            base = first if base < 0 else base
        mark, died = marks.taken_over(found, self._owner, base, end)
        if end is not None and left.offset >= 0 and marks.harmless(found):
            self._inherited[left.topic, left.partition] = end
        if died:
            topic = self._topics[left.topic].name
            metrics.deaths.labels(topic).inc()
            _log.warning(
                "left by a process that died at %s/%d offset=%d mark=%s",
                topic,
                left.partition,
                base,
                marks.write(mark),
            )
        with self._lock:
            self._hand.mark((left.topic, left.partition), mark, base)
