printf 'one two\nthree\n' > /tmp/grade.txt
score=0
check() {
  if [ "$(bash ./tally.sh $1 /tmp/grade.txt 2>/dev/null)" = "$2" ]; then
    score=$((score + $3)); echo "tally $1: OK ($3)"
  else
    echo "tally $1: FAIL"
  fi
}
check "" 2 2
check -w 3 3
check -c 14 3
check -l 7 2
echo "Score: $score/10"
