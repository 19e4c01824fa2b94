/*
 * The network stack: one Ethernet interface, ARP, IP, ICMP echo, UDP to whoever has a queue for a port. net/README.md
 * has the way of a packet, and when which part of it runs.
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
 * With the build option nfs: as the first socket of a program, it starts the interface. 0; -EPROTONOSUPPORT, -EINVAL:
 * frames are not worked on in threads, there is no clock.
 */
int net_start(void);

/* What became of packets. Each hart counts by itself; net_counts adds them up. */
#define NET_COUNTS(count)                                                                                              \
    count(received) count(no_mbuf) count(no_protocol) count(arp_in) count(arp_bad) count(arp_replies)                  \
        count(arp_conflicts) count(arp_requests) count(arp_dropped) count(ip_in) count(ip_short) count(ip_bad)         \
            count(ip_checksum) count(ip_fragments) count(ip_fragments_bad) count(ip_reassembled) count(ip_timeouts)    \
                count(ip_other) count(ip_protocol) count(icmp_in) count(icmp_bad) count(icmp_echo) count(icmp_ignored) \
                    count(icmp_told) count(icmp_errors) count(udp_in) count(udp_bad) count(udp_no_port)                \
                        count(udp_full) count(udp_out) count(tcp_in) count(tcp_bad) count(tcp_no_port) count(tcp_out)  \
                            count(tcp_retransmits) count(sent) count(tx_full) count(tx_down) count(no_room)            \
                                count(looped) count(loop_full)
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
    struct ether_protocol *next;
};
void ether_register(struct ether_protocol *p); /* before frames come; for good */

/* Each consumes the packet; m_data is at its header. */
void ether_input(struct mbuf *m);
void arp_input(struct mbuf *m);
void ip_input(struct mbuf *m);
/* A fragment, consumed: the datagram that it completes, with a header without options, or 0. */
struct mbuf *ip_reassemble(struct mbuf *m, uint32_t header);
void ip_slow(void);   /* now and then: what has waited too long for the rest of its datagram goes */
void ip_forget(void); /* all of it does */
void icmp_input(struct mbuf *m, uint32_t header); /* of the IP header at m_data, its length */
void udp_input(struct mbuf *m, uint32_t header);
void tcp_input(struct mbuf *m, uint32_t header); /* in thread context */

/* Whether it is the address of one other host (RFC 1122, 3.2.1.3): no group's, no host's own, not ours. */
bool ip_is_other_host(uint32_t ip);
bool ip_is_all(uint32_t ip); /* that of all hosts of this network */
/*
 * To `to`, who may be all, a packet with its IP header, whose addresses and lengths are right; the checksum is made
 * here. One with a rest goes in fragments: each mbuf has IP_PART bytes of data, but the last, and room for headers.
 */
void ip_output(struct mbuf *m, uint32_t to);
/* With room for its header before it. What is in its rest is sent, too: frames of their own. */
void ether_output(struct mbuf *m, const uint8_t *to, uint32_t type);
/* The same, to who has the address `ip`; asks for him if nobody knows. */
void arp_resolve(struct mbuf *m, uint32_t ip);
void arp_init(void);
/* All that it knows; what waits for an answer is dropped and counted, and so is, until arp_init, what would wait. */
void arp_forget(void);

/*
 * Consumes a packet that came, whose IP header and 8 bytes more are at m_data; the host that sent it is told of an
 * error, if it may be (RFC 1122, 3.2.2) and not too many are.
 */
void icmp_error(struct mbuf *m, uint32_t type, uint32_t code);

/*
 * An echo request to `to`, numbered, with so many bytes of a pattern: false if there is no memory for it. What answers
 * come is checked and goes to `icmp_answer`, at the level at which IP is handled.
 */
bool icmp_ask(uint32_t to, uint32_t number, uint32_t bytes);
extern void (*icmp_answer)(uint32_t from, uint32_t number, uint32_t bytes, bool right);

/* What an ICMP error says of a packet that this host has sent: from and to whom, the first bytes behind its header. */
struct told {
    uint32_t laddr, faddr;
    const uint8_t *header; /* 8 bytes */
    int error;             /* minus a number of <errno.h> */
    bool hard;             /* it will not get better (RFC 1122, 4.2.3.9) */
    uint32_t mtu;          /* what the way lets pass, where the packet was longer; else 0 */
};
void tcp_told(const struct told *of); /* in thread context */
extern void (*udp_told)(const struct told *of); /* 0: there are no sockets */

/* What the interface does with a frame that has its header: consumes it (net/if_ether.h). */
extern void (*if_transmit)(struct mbuf *m);

/* Where datagrams to a port go: `queue`, after which `notify` is called. */
struct udp_port {
    uint32_t port;
    struct ifqueue queue;
    void (*notify)(struct udp_port *p);
    struct udp_port *next;
};
void udp_bind(struct udp_port *p); /* before packets come; for good */
/*
 * Takes a datagram of no such port, whose data are at m_data and whose header stands before them, if there is a socket
 * for it: then it is consumed. 0: there are no sockets.
 */
extern bool (*udp_to_socket)(struct mbuf *m, uint32_t laddr, uint32_t lport, uint32_t faddr, uint32_t fport);
#endif
