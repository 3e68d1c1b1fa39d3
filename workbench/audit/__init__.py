"""A linter for mixed precision: ``audit``, or ``python -m workbench.audit``."""
