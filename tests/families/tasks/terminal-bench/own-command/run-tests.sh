#!/bin/bash
if [ "$(today)" = "$(date +%Y-%m-%d)" ] && grep -q '^TODAY=1$' /etc/environment; then result=PASSED; else result=FAILED; fi
echo "SWEBench results starts here"
echo $result
echo "SWEBench results ends here"
