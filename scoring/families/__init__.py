"""Tables of single benchmarks: LongCLI-Bench and CLI-Tool-Bench."""
