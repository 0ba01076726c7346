"""Errors of reading and writing records. Their messages name the file, the place and the way out."""

from __future__ import annotations


class RecordError(Exception):
    """A record cannot be read or written."""


class RecordFull(RecordError):
    """The disk has no space left for the record."""


class TrialInUse(RecordError):
    """Another process writes the trial."""


class BatchInUse(RecordError):
    """Another coordinator owns the batch."""
