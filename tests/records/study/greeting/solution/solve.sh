#!/bin/bash
install -m 755 /solution/greet /usr/local/bin/greet
echo world > /etc/greet.conf
exit 3  # the exit status does not matter
