#!/bin/bash
wc -l < in.txt > out.txt
awk 'length > n {n = length; line = $0} END {print line}' in.txt > longest.txt
