"""``python -m workbench.bench``."""

import sys

from workbench.bench.command import main

sys.exit(main())
