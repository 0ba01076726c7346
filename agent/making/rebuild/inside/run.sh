#!/bin/bash
# A branch's hidden tests, as ProgramBench's evaluator starts them: root, in /workspace, after compile.sh has run.
# The submission lies in the same directory. None of its files is imported or read as pytest's configuration, and the
# program under test, which runs as `agent`, cannot read the tests; all else here it can, though it is root's by now.
cd "$(dirname "$0")/.." || exit
chmod -R a+rX .
chmod -R go= eval
export PYTHONSAFEPATH=1 PYTHONDONTWRITEBYTECODE=1
exec python3 -m pytest -q -c /dev/null --rootdir=. --confcutdir=eval -p no:cacheprovider \
    --timeout=60 --timeout-method=thread --junitxml=eval/results.xml eval/tests
