"""Explain the machine, a run or a log: ``doctor``, or ``python -m workbench.doctor``."""
