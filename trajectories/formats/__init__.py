"""Import of other programs' files as trials, and export of trials in other programs' formats.

`document` and `detect` examine a file; `mini` reads and writes mini-swe-agent's trajectories; `trial` writes imported
items as a trial. `atif`, `openai` and `asciicast` only write. Nothing here runs commands, prices calls or evaluates.
"""
