#!/bin/bash
printf lime >extra.in
test -x /usr/local/bin/count && touch /opt/set-up
test ! -e /tests/check.sh && test ! -e /logs/verifier/reward.txt && touch /opt/emptied
exit 0
