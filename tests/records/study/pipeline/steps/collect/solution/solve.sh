#!/bin/bash
tr ' ' '\n' <words.in | sort >words.out
printf '#!/bin/sh\ngrep -c . /app/words.out\n' >/usr/local/bin/count
chmod +x /usr/local/bin/count
