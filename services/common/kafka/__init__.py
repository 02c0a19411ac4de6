"""The Kafka edge: the only package that talks to confluent-kafka.

Delivery is at least once: a send has happened when it returns, an input is committed only when
its handling has returned.
"""

from services.common.kafka.admin import check_topics, create_topics
from services.common.kafka.consumer import Consumer
from services.common.kafka.incoming import Incoming
from services.common.kafka.producer import Producer
from services.common.kafka.table import Table

__all__ = ["Consumer", "Incoming", "Producer", "Table", "check_topics", "create_topics"]
