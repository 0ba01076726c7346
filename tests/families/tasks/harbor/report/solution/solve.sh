#!/bin/bash
cd /app
mkdir details
while read -r customer order; do echo "$order" >> "details/$customer.txt"; done < orders.txt
touch details/notes.tmp
for file in details/*.txt; do echo "$(basename "$file" .txt),$(wc -l < "$file")"; done > report.csv
