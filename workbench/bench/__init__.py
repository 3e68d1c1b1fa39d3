"""Measure float32 against mixed precision: ``bench``, or ``python -m workbench.bench``."""
