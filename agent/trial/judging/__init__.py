"""The end of a trial: the export of its workspace, the commit of its container, and the evaluation of its result."""
