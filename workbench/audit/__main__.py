"""``python -m workbench.audit``."""

import sys

from workbench.audit.command import main

sys.exit(main())
