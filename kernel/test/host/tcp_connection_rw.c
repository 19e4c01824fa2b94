/*
 * The same as tcp.c, of the network's kernel `connection-rw`, with fewer seeds. Sources: net/mbuf.c net/net.c
 * net/arp.c net/ip.c net/ip_reassembly.c net/icmp.c net/loop.c net/datagram.c net/udp.c net/in_cksum.c
 * net/ether_output.c net/in_pcb.c net/socket.c net/sockbuf.c net/urgent.c net/pair.c net/direct.c net/socket_options.c
 * net/tcp_input.c net/tcp_options.c net/tcp_sack.c net/tcp_output.c net/tcp_timer.c net/tcp_usrreq.c
 * lock/simple_lock.c net/waiting.c lib/bootargs.c lib/printf.c
 * net/route.c net/ip_options.c. Options: ZONE_DEBUG=0
 * TCPIP_FILE="net/policy/connection_rw.h"
 * TCP_FEW=4
 */
#include "tcp.c"
