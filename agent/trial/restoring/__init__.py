"""A recorded trial in a new environment: how it stands, what of it can be brought back, and what is lost.

Forks, resumed trials and trials whose environment ended on the way need the same.
"""
