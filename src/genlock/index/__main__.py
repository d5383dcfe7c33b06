"""`python -m genlock.index PATH…` makes the index of all recordings below these paths."""

from __future__ import annotations

import argparse
import sys

from genlock.errors import GenlockError
from genlock.index import Index
from genlock.index.ahead import index_all


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 if some recording could not be opened."""
    parser = argparse.ArgumentParser("python -m genlock.index", description=__doc__)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a recording, or a folder of many")
    parser.add_argument("--jobs", type=int, help="processes (default: one for each processor)")
    options = parser.parse_args(arguments)
    failed = 0
    try:
        for error in index_all(options.paths, options.jobs):
            print(error, file=sys.stderr)
            failed += 1
    except GenlockError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"the index is in {Index.of_user().folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
