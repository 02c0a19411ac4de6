"""A run of the local engines as a process of its own, for tests that end it from outside.

Arguments: the data directory and the jars' directory. Prints each progress line, then `UP`.
"""

import signal
import sys
from pathlib import Path

from services.common.settings import Local, Settings
from services.local.engines import engines

# Ctrl-C works even where a shell started the tests with it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
data_dir, jars_dir = map(Path, sys.argv[1:])
local = Local(data_dir=data_dir, jars_dir=jars_dir, engine="java", kafka_port=0, cassandra_port=0)
with engines(Settings(local=local), lambda line: print(line, flush=True)):  # noqa: T201 - the test reads it
    print("UP", flush=True)  # noqa: T201 - the test reads it
    signal.pause()
