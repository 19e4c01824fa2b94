/*
 * Where frames are processed: a file of receive/, selected by the build option `net`, behind this interface. For
 * if_ether.c, which includes it once.
 *
 *   RECEIVE_IN_THREADS       whether the protocols run in threads, which may take blocking locks
 *   receive_prepare()        before the core is reset: boot arguments, threads
 *   receive_establish(q)     establishes the interrupt of a queue, whose ring has been filled
 *   receive_begin()          all queues are established, and no interrupt is enabled
 *   receive_input(m, ip)     a packet of IP, or of ARP, without its Ethernet header: consumes it
 *   receive_stop()           no frame arrives any more
 *   receive_rest(q)          the queue has no handler any more: takes frames that came after the last interrupt
 *   receive_end()            processes all waiting packets, and frees buffers
 *   receive_add(sum)         adds its own counters
 *   if_ether_hold, if_ether_go_on (if_ether.h)
 */
#ifndef NET_RECEIVE_H
#define NET_RECEIVE_H

#include NET_FILE

#endif
