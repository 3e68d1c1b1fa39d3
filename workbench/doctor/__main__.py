"""``python -m workbench.doctor``."""

import sys

from workbench.doctor.command import main

sys.exit(main())
