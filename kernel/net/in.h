/*
 * The internet protocols' numbers and headers, byte by byte: a packet may begin at any address, and its numbers have
 * the most significant byte first (RFC 826, 791, 792, 768).
 */
#ifndef NET_IN_H
#define NET_IN_H

#include <stdbool.h>
#include <stdint.h>

#define ETHER_ADDRESS 6 /* bytes */
#define ETHER_HEADER 14
#define ETHERTYPE_IP 0x0800
#define ETHERTYPE_ARP 0x0806

#define IP_HEADER 20 /* without options */
#define IP_MTU 1500
#define IP_MOST 65535 /* bytes of a packet with its header */
#define IP_PART 1480  /* bytes of data in a fragment: a multiple of 8 */
#define IP_AT (ETHER_HEADER + 2) /* where a packet begins in its mbuf */
#define IP_MORE 0x2000u
#define IP_OFFSET 0x1fffu
#define IPPROTO_IP 0 /* the level of IP's options */
#define IPPROTO_ICMP 1
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IP_DONT_FRAGMENT 0x4000u
#define IP_MTU_LEAST 576 /* of a path: smaller values are ignored */
#define ICMP_UNREACHABLE 3
#define ICMP_REDIRECT 5
#define ICMP_TIME_EXCEEDED 11
#define ICMP_PARAMETER_PROBLEM 12
#define ICMP_NO_PROTOCOL 2 /* codes of ICMP_UNREACHABLE */
#define ICMP_NO_PORT 3
#define ICMP_TOO_LONG 4
#define ICMP_ROUTE_FAILED 5
#define INADDR_BROADCAST 0xffffffffu

static inline uint32_t get16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t get32(const uint8_t *p)
{
    return get16(p) << 16 | get16(p + 2);
}

static inline void put16(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}

static inline void put32(uint8_t *p, uint32_t value)
{
    put16(p, value >> 16);
    put16(p + 2, value);
}

/*
 * The checksum (RFC 1071) of `length` bytes at an even address, continued from `sum`, the sum of the bytes before
 * (an even number); in the form for a header whose checksum field was 0. For a valid header with its checksum it is
 * 0.
 */
uint32_t in_cksum(const uint8_t *p, uint32_t length, uint32_t sum);

/* The same for a packet from byte `from` of its first mbuf on: each mbuf but the last has an even number. */
struct mbuf;
uint32_t in_cksum_packet(const struct mbuf *m, uint32_t from, uint32_t sum);

/* The sum of the pseudo-header of TCP and UDP: addresses of the IP header, protocol, length. */
static inline uint32_t in_pseudo_sum(const uint8_t *ip, uint32_t protocol, uint32_t length)
{
    uint32_t sum = protocol + length;
    for (unsigned at = 12; at < 20; at += 2)
        sum += get16(ip + at);
    return sum;
}
#endif
