"""One trial, from an order and a start to a verdict. `run` tells the story.

An order (`order`, made by `resolve`) and a start (`start`) become a session (`session`), in which a worker (`worker`)
acts. `export` and `evaluation` come after it. `restoring` brings a workspace back in a new environment. Imported by
everything in `agent` that runs trials.
"""
