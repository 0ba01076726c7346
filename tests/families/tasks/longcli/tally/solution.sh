#!/bin/bash
cat > /app/tally/tally.sh <<'TALLY'
#!/bin/bash
case "$1" in
  -w) wc -w < "$2" ;;
  -c) wc -c < "$2" ;;
  -l) wc -L < "$2" ;;
  *) wc -l < "$1" ;;
esac | tr -d ' '
TALLY
