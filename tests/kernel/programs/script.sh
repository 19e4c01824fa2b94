# What a script expects of a shell and its commands. /few has the lines "line 0" to "line 19".
checks=0 failed=0
check() { # WHAT GOT WANTED
    checks=$((checks + 1))
    if [ "$2" != "$3" ]; then
        failed=$((failed + 1))
        echo "wrong: $1: $2 instead of $3"
    fi
}
twice() { echo $(($1 * 2)); }
n=0
while read word number; do
    n=$((n + number))
done < /few
check "while read" $n 190
check "a function" "$(twice 21)" 42
check "for and case" "$(for i in 1 2 3; do case $i in 2) echo two;; *) echo $i;; esac; done)" "1
two
3"
check "a pipe" "$(/bin/echo one two | while read a b; do echo $b $a; done)" "two one"
check "a pipe of three" "$(cat /few | cat | { read first; echo $first; cat >/dev/null; })" "line 0"
check "a here-document" "$(cat <<END
n is $n
END
)" "n is 190"
/bin/false; check "a status" $? 1
/bin/test 3 -gt 2 -a ! -d /few; check "test" $? 0
nothing-of-that-name 2>/dev/null; check "no command" $? 127
check "globs" "$(echo /fe*)" /few
(exit 7) & wait $!; check "a job" $? 7
trap 'caught=yes' USR1
/bin/kill -USR1 $$; check "a trap" "$caught" yes
/bin/sleep 100 & /bin/kill $!; wait $!; check "kill" $? 143
check "ps" "$(/bin/ps | { while read pid rest; do [ $pid = $$ ] && echo found; done; })" found
/bin/time /bin/true 2>/dev/null; check "time" $? 0
set -- a "b c" d; shift; check "parameters" "$#:$1" "2:b c"
check "expansions" "${nothing:-default} ${n%00} $((0x10 + 010))" "default 190 24"
echo "@sh checks=$checks failed=$failed"
exit $failed
