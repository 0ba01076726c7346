"""The code that an agent wrote: its languages, its size step by step, and its functions."""
