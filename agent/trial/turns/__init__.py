"""What a trial needs of the chain of turns that it belongs to: its options, forms of feedback, and a kept environment.

`agent.continuation` runs chains.
"""
