total=0 extra=0
[ "$(cat /app/total.txt 2>/dev/null)" = 3 ] && total=1
[ "$(cat /app/extra.out 2>/dev/null)" = lime ] && [ -e /opt/emptied ] && extra=1
[ $((total + extra)) = 2 ] && echo 1 || { [ $((total + extra)) = 1 ] && echo 0.5 || echo 0; }
