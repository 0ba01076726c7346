"""The commands of `agent`, one file each: options in, one call, a result out. Slow imports are inside of functions."""
