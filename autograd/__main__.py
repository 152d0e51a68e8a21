"""The command line: `handgrad`, or the same thing as `python -m autograd`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
