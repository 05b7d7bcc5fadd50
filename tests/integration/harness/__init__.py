"""Building blocks of the whole-server tests: real PostgreSQL servers, the real binary, a TCP proxy.

Every wait is a condition with a deadline; nothing sleeps and hopes.
"""

from harness.cluster import Cluster, Database, SUPPORTED_VERSIONS
from harness.events import Event, Number, parse_line
from harness.kaptanto import Kaptanto, inspect_journal, kaptanto_binary, run_command
from harness.proxy import TcpProxy
from harness.waiting import DeadlineError, wait_until

__all__ = [
    "Cluster",
    "Database",
    "DeadlineError",
    "Event",
    "Kaptanto",
    "Number",
    "SUPPORTED_VERSIONS",
    "TcpProxy",
    "inspect_journal",
    "kaptanto_binary",
    "parse_line",
    "run_command",
    "wait_until",
]
