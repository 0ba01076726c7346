"""Changes that a submission makes outside of its workspace, in the system that its tests then run in.

The official evaluator runs compile.sh as root and the hidden tests in an image of that container, so a compile.sh can
replace pytest, Python or the shell with files of its own. The official evaluator does not look for that. `look` lists
the changes when the build is over, `reach` names what executes or imports a path later, `honest` excuses what builds
do, and `verdict` puts each change into one of the two lists of a verdict.
"""
