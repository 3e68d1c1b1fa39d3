"""Data sets: read and checked whole before any device work."""

from workbench.data.sources import load
from workbench.data.types import Arrays, Dataset, Files, Stream

__all__ = ["Arrays", "Dataset", "Files", "Stream", "load"]
