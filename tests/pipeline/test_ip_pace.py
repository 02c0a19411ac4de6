"""NET-01: many hosts on one IP address share its pace over all fetchers; others do not wait."""

import os
import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import Popen
import subprocess
import sys

import confluent_kafka
import pytest

from services.common import codec, topics
from services.common.kafka import options
from services.common.records import Seed
from services.common.settings import Settings
from services.local.environment import environment
from services.local.ports import choose_ports
from services.local.scrape import scrape
from services.local.supervisor import pipeline, readiness

FARM = "127.0.0.2"
FARM_HOSTS, FARM_PAGES = 40, 2
OTHERS = ("127.0.0.3", "127.0.0.4", "127.0.0.5")
OTHER_PAGES = 6
SLOTS, SPACING, GAP = 2, 0.2, 0.5
TOLERANCE = 0.05
"""Seconds by which a request may reach the server sooner or later than the one before it."""
FETCHERS = 3
PATIENCE = 120.0
