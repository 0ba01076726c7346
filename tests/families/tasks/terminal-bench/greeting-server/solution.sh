#!/bin/bash
mkdir -p /srv/site
echo hello > /srv/site/index.html
nohup python3 -m http.server 8080 --directory /srv/site > /dev/null 2>&1 &
