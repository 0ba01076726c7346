"""Prices of tokens: tables, dated snapshots, the cost of one call, and a trial priced again."""
