"""What the record's readers and writers raise; messages name the file, the place and the way out."""

from __future__ import annotations


class RecordError(Exception):
    """A record that cannot be read or written as asked."""


class RecordFull(RecordError):
    """No space is left for the record."""


class TrialInUse(RecordError):
    """Another live process owns the trial."""
