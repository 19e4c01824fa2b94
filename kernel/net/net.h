/*
 * The network stack: one Ethernet interface, ARP, IP, ICMP echo, UDP to the queues of ports. net/README.md shows the
 * path of a packet, and in which context each part runs.
 */
#ifndef NET_NET_H
#define NET_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "net/mbuf.h"

struct net_address {
    uint8_t ether[6];
    uint32_t ip, mask;
};
extern struct net_address net_own;

/*
 * With the build option nfs: starts the interface, as the first socket of a program does. 0; -EPROTONOSUPPORT, -EINVAL:
 * frames are not processed in threads, there is no clock.
 */
int net_start(void);

/* The fates of packets. Each hart has its own counters; net_counts adds them up. */
#define NET_COUNTS(count)                                                                                              \
    count(received) count(no_mbuf) count(no_protocol) count(arp_in) count(arp_bad) count(arp_replies)                  \
        count(arp_conflicts) count(arp_requests) count(arp_dropped) count(ip_in) count(ip_short) count(ip_bad)         \
            count(ip_checksum) count(ip_fragments) count(ip_fragments_bad) count(ip_reassembled) count(ip_timeouts)    \
                count(ip_other) count(ip_protocol) count(icmp_in) count(icmp_bad) count(icmp_echo) count(icmp_ignored) \
                    count(icmp_told) count(icmp_errors) count(udp_in) count(udp_bad) count(udp_no_port)                \
                        count(udp_full) count(udp_out) count(tcp_in) count(tcp_bad) count(tcp_no_port) count(tcp_out)  \
                            count(tcp_retransmits) count(sent) count(tx_full) count(tx_down) count(no_room)            \
                                count(looped) count(loop_full) count(raw_full) count(rx_down) count(no_route)          \
                                    count(icmp_redirects)
struct net_counts {
#define NET_COUNT_FIELD(name) uint32_t name;
    NET_COUNTS(NET_COUNT_FIELD)
};
extern struct net_counts net_count[];
#define NET_COUNT(name) __atomic_fetch_add(&net_count[curhart->id].name, 1, __ATOMIC_RELAXED)
struct net_counts net_counts(void);
void net_print_results(void); /* @net, @netq */

/* Frames of another protocol than IP and ARP: without its header the packet is consumed, at SPL_NET at most. */
struct ether_protocol {
    uint32_t type;
    void (*input)(struct mbuf *m);
    SLIST_ENTRY(ether_protocol) link;
};
void ether_register(struct ether_protocol *p); /* before frames arrive; permanently */

/* Each consumes the packet; m_data is at its header. */
void ether_input(struct mbuf *m);
void arp_input(struct mbuf *m);
void ip_input(struct mbuf *m);
/* A fragment, consumed: the datagram that it completes, with a header without options, or 0. */
struct mbuf *ip_reassemble(struct mbuf *m, uint32_t header);
void ip_slow(void);   /* periodically: drops datagrams that have waited too long for the rest */
void ip_forget(void); /* drops all of them */
/* False: the packet, whose header is of so many bytes, has been consumed because of its options. */
bool ip_options_pass(struct mbuf *m, uint32_t header);
/*
 * Makes the header that of an answer, whose addresses the caller sets: without options, but with the source route that
 * leads back, if it has come by one. Returns the address that the answer goes to first.
 */
uint32_t ip_options_answer(struct mbuf *m, uint32_t header);
void icmp_input(struct mbuf *m, uint32_t header); /* `header`: length of the IP header at m_data */
void udp_input(struct mbuf *m, uint32_t header);
void tcp_input(struct mbuf *m, uint32_t header); /* in thread context */

/* Whether it is the address of one other host (RFC 1122, 3.2.1.3): no group, loop-back or own address. */
bool ip_is_other_host(uint32_t ip);
bool ip_is_all(uint32_t ip); /* the broadcast address of this network */
/*
 * Sends to `to`, which may be all hosts, on its route (route.h), a packet with its IP header, whose addresses and
 * lengths are set; sets the
 * checksum. One with m_next goes in fragments: each mbuf but the last has IP_PART bytes of data, and room for headers.
 */
void ip_output(struct mbuf *m, uint32_t to);
/* Sends a packet with room for its header before it, and the mbufs of m_next as separate frames. */
void ether_output(struct mbuf *m, const uint8_t *to, uint32_t type);
/* The same, to the host with address `ip`; sends an ARP request if its Ethernet address is unknown. */
void arp_resolve(struct mbuf *m, uint32_t ip);
void arp_init(void);
void arp_announce(void); /* tells the network this host's addresses */
/* Clears the table; waiting packets are dropped and counted, and until arp_init also those that would wait. */
void arp_forget(void);

/*
 * Consumes a received packet, whose IP header and 8 bytes more are at m_data; sends an error to its host, if that is
 * allowed (RFC 1122, 3.2.2) and within the rate limit.
 */
void icmp_error(struct mbuf *m, uint32_t type, uint32_t code);
void icmp_error_at(struct mbuf *m, uint32_t type, uint32_t code, uint32_t at); /* `at`: the byte that is wrong */

/*
 * Sends an echo request to `to`, numbered, with `bytes` bytes of a pattern: false if there is no memory for it. Answers
 * are checked and passed to `icmp_answer`, at the level at which IP is handled.
 */
bool icmp_ask(uint32_t to, uint32_t number, uint32_t bytes);
extern void (*icmp_to_raw)(const struct mbuf *m); /* gets each valid message, its IP header at m_data; or 0 */
extern void (*icmp_answer)(uint32_t from, uint32_t number, uint32_t bytes, bool right);

/* An ICMP error about a packet that this host has sent: its addresses, and the first bytes after its header. */
struct told {
    uint32_t laddr, faddr;
    const uint8_t *header; /* 8 bytes */
    int error;             /* minus a number of <errno.h> */
    bool hard;             /* a permanent error (RFC 1122, 4.2.3.9) */
    uint32_t mtu;          /* of the path, if the packet was longer; else 0 */
};
void tcp_told(const struct told *of); /* in thread context */
extern void (*udp_told)(const struct told *of); /* 0: there are no sockets */

/* The interface's function that sends a frame with its header, and consumes it (net/if_ether.h). */
extern void (*if_transmit)(struct mbuf *m);

/* Datagrams to a port are put into `queue`; then `notify` is called. */
struct udp_port {
    uint32_t port;
    struct ifqueue queue;
    void (*notify)(struct udp_port *p);
    SLIST_ENTRY(udp_port) link;
};
void udp_bind(struct udp_port *p); /* before packets arrive; permanently */
/*
 * Consumes a datagram to another port, if there is a socket for it; its data is at m_data, after its header. False: no
 * socket for it. 0: there are no sockets.
 */
extern bool (*udp_to_socket)(struct mbuf *m, uint32_t laddr, uint32_t lport, uint32_t faddr, uint32_t fport);
#endif
