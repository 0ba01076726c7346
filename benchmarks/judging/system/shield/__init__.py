"""Running a test script where processes of the agent that are root cannot reach the tests, their output and results.

`container` starts a container of the evaluator's own beside the judged one. In it, `inside.pl` enters the judged
container with a private view of the directories of the tests and results, gives up its rights, and runs the script.
`outcome` reads what it says.
"""
