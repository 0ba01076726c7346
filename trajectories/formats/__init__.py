"""Other programs' files: what is read into trials of our own, and what trials are written out as.

`document` and `detect` look at a file, `mini` reads and writes mini-swe-agent's, `trial` writes what was
read as a trial, `atif`, `openai` and `asciicast` write only. Nothing here runs, prices or evaluates.
"""
