"""Import of other programs' files as trials, and export of trials in other programs' formats.

`document` and `detect` examine a file; `mini` and `atif` read and write trajectories of mini-swe-agent and in ATIF;
`trial` writes imported items as a trial. `openai` and `asciicast` only write. Nothing here runs commands, prices calls
or evaluates.
"""
