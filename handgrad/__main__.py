"""`python -m handgrad`."""

import sys

from handgrad import main

sys.exit(main())
