# Routes over Linux at 10.0.0.1, which also has 192.168.7.7, and sends what goes to 172.16.0.0/16 by 10.0.0.9.
checks=0 failed=0
check() { # WHAT GOT WANTED
    checks=$((checks + 1))
    if [ "$2" != "$3" ]; then
        failed=$((failed + 1))
        echo "wrong: $1: $2 instead of $3"
    fi
}
echoes() { ping -q -c 1 -W 10 "$@" >/dev/null 2>&1 && echo yes || echo no; }
there_is() { # DESTINATION GATEWAY FLAGS
    route | { while read to gateway mask flags rest; do [ "$to $gateway $flags" = "$*" ] && echo yes; done; }
}

check "no route" "$(echoes 192.168.7.7)" no
route add default gw 10.0.0.1
check "a router" "$(echoes 192.168.7.7) $(echo hello | nc 192.168.7.7 7)" "yes hello"
check "none yet" "$(there_is 172.16.0.1 10.0.0.9 UGHD)" ""
ping -q -c 1 -W 1 172.16.0.1
check "a redirect" "$(there_is 172.16.0.1 10.0.0.9 UGHD)" yes
echo "@routes checks=$checks failed=$failed"
exit $failed
