"""Writers of records: the recorder, the lock, the masker, and the files derived from the events."""
