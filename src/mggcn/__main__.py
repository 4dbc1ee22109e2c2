"""``python -m mggcn``."""

import sys

from mggcn.cli import main

if __name__ == "__main__":
    sys.exit(main())
