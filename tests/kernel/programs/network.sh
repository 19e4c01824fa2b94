# What the network's commands say on node 1, whose address is 10.0.0.3; 10.0.0.2 answers 3
# echoes, or 7 with the argument `all`.
checks=0 failed=0
check() { # WHAT GOT WANTED
    checks=$((checks + 1))
    if [ "$2" != "$3" ]; then
        failed=$((failed + 1))
        echo "wrong: $1: $2 instead of $3"
    fi
}
says() { # WHAT PATTERN: in what the command of `of` has printed
    case "$said" in
    $2) check "$1" yes yes ;;
    *) check "$1" "$said" "$2" ;;
    esac
}
of() { said=$("$@" 2>&1); }
echoes() { ping -q -c 1 -W $1 $2 >/dev/null 2>&1 && echo yes || echo no; } # SECONDS HOST
line='
'

of ping -c 2 -i .2 10.0.0.2
says "an echo" "*${line}64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=*icmp_seq=2 ttl=64*"
says "none is lost" "*2 packets transmitted, 2 received, 0% packet loss*"
of ifconfig
says "both interfaces" "*eth0*Link encap:Ethernet  HWaddr 02:49:4c:4b:00:03*"
says "the address" "*inet addr:10.0.0.3  Bcast:10.0.0.255  Mask:255.255.255.0 *"
says "the flags" "*UP BROADCAST RUNNING  MTU:1500*"
says "the loop-back" "*lo *inet addr:127.0.0.1  Mask:255.0.0.0*UP LOOPBACK RUNNING  MTU:65535*"
ifconfig eth0 10.0.0.77/25
route add -net 192.168.7.0 netmask 255.255.255.0 gw 10.0.0.2
route add 192.168.7.8 reject
of route
says "the own network" "*${line}10.0.0.0        \*               255.255.255.128 U    *"
says "a network's" "*${line}192.168.7.0     10.0.0.2        255.255.255.0   UG   *"
says "a reject" "*${line}192.168.7.8     \*               255.255.255.255 UH!  *"
check "an echo elsewhere" "$(echoes 0 192.168.7.7)" no
of ping -c 1 -I 10.0.0.77 10.0.0.2
says "an echo from another address" "* from 10.0.0.77 *1 packets transmitted, 1 received*"
of netstat -i
says "interfaces" "*${line}lo    65535          0       0          0       0${line}eth0   1500*"

if [ "$1" = all ]; then
    of ifconfig eth0
    says "another address" "*inet addr:10.0.0.77  Bcast:10.0.0.127  Mask:255.255.255.128 *"
    ifconfig eth0 10.0.0.128 2>/dev/null; check "no address" $? 1
    ifconfig eth0 10.0.0.3/24
    ifconfig eth7 2>/dev/null; check "no interface" $? 1
    ifconfig eth0 down
    check "down" "$(echoes 0 10.0.0.2)" no
    ifconfig eth0 up
    check "up again" "$(echoes 1 10.0.0.2)" yes
    of ping -c 1 -s 3000 10.0.0.2
    says "a long echo" "*3008 bytes from 10.0.0.2*"
    of ping -c 1 localhost
    says "the own host" "*64 bytes from 127.0.0.1: icmp_seq=1 ttl=64*"

    check "no route" "$(echoes 0 192.168.9.7) $(echoes 0 192.168.7.8)" "no no"
    route add -net 192.168.0.0/16 gw 10.0.0.99
    route add default gw 10.0.0.2
    check "a longer prefix" "$(echoes 0 192.168.7.7)" no
    of netstat -r
    says "the default" "*${line}default         10.0.0.2        0.0.0.0         UG   *"
    of route add -host 192.168.7.8 gw 10.0.0.2
    says "the same again" "route: 192.168.7.8: File exists"
    of route add 1.2.3.4 gw 1.2.3.5
    says "a gateway elsewhere" "route: 1.2.3.4: Network is unreachable"
    route del 192.168.7.8
    of route del 192.168.7.8
    says "a deleted one" "route: 192.168.7.8: No such process"

    nc -l 99 </dev/null &
    sleep .1
    of netstat -a
    says "a listening socket" "*${line}tcp        0      0 \*:99                  \*:\*                   LISTEN*"
    kill $!
    of netstat -s
    says "counters" "* icmp_in${line}* tx_down${line}*"
    of netstat -m
    says "memory" "Pool*${line}mbufs *${line}clusters *"
    check "the end" "$(echoes 1 10.0.0.2) $(echoes 1 10.0.0.2)" "yes yes"
fi
echo "@network checks=$checks failed=$failed"
exit $failed
