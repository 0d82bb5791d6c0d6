"""Starts servers by hand: `python -m tests.servers.processes.run redis mariadb`.

Ctrl-C ends them; their data is removed.
"""

import argparse
import signal
import sys

from tests.servers.availability import SERVERS
from tests.servers.processes.process import ServerError
from tests.servers.processes.running import running


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.processes.run", description=__doc__)
    parser.add_argument("names", nargs="+", choices=SERVERS, metavar="NAME", help=f"some of {', '.join(SERVERS)}")
    names = dict.fromkeys(parser.parse_args().names)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with running(*names) as servers:
            for name, server in servers.items():
                sys.stdout.write(f"{name:14} {server.url}  pid {server.pid}  log {server.log}\n")
            sys.stdout.flush()
            signal.pause()
    except ServerError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
