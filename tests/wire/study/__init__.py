"""A provider for whole studies: scripted models, prices, faults and a bill, quick enough for hundreds of trials.

It speaks chat completions on the loopback. `script` computes a reply from the messages of a request alone, so the order
of requests and their repetition change nothing. `bill` notes each request with its tokens and dollars when it comes,
whoever still waits for the reply. `faults` decides which requests fail. `server` carries it all, in a thread of the
test, or in a process of its own (`python -m tests.wire.study --bill FILE`, see `running`).
"""
