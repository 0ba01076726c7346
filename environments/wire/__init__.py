"""The conversation with a supervisor: the channel, its frames and answers, outputs, the persistent shell."""
