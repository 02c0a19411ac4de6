"""Inside a parsing process: octets in, octets out.

Decides nothing. The process has no connection to anything; it ends when its parent does.
"""

import logging
import os
import resource
import signal
import threading
import traceback
from contextlib import suppress
from multiprocessing import connection, parent_process

import msgspec

from services.parser.document import Document, Task, read

_decoder = msgspec.msgpack.Decoder(Task)
_encoder = msgspec.msgpack.Encoder()


def prepare(max_memory: int) -> None:
    """Run once in each new process; `max_memory` is in octets of address space."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # ends the process in the midst of C code too
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = max_memory if hard == resource.RLIM_INFINITY else min(max_memory, hard)
    with suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
    for library in ("trafilatura", "charset_normalizer"):
        logging.getLogger(library).setLevel(logging.CRITICAL)  # odd pages are their daily bread
    threading.Thread(target=_end_with_parent, daemon=True, name="parent-watch").start()


def parse(task: bytes) -> bytes:
    """A `Document` for a `Task`, both as MessagePack; never raises for what is in the page."""
    try:
        return _encoder.encode(read(_decoder.decode(task)))
    except MemoryError:
        return _encoder.encode(Document(failure="parse-memory"))
    except Exception:  # noqa: BLE001 - the parent logs it and keeps the page
        return _encoder.encode(Document(failure="parse-failed", detail=traceback.format_exc()))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
