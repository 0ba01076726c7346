sorted=0 count=0
[ "$(cat /app/words.out 2>/dev/null)" = "$(printf 'apple\nfig\npear')" ] && sorted=1
[ "$(count 2>/dev/null)" = 3 ] && count=1
[ $((sorted + count)) = 2 ] && echo 1 || { [ $((sorted + count)) = 1 ] && echo 0.5 || echo 0; }
