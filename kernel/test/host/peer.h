/*
 * The host at the other end of the wire in tests of the network: its address is known to ARP, as if it had answered.
 */
#ifndef TEST_HOST_PEER_H
#define TEST_HOST_PEER_H

#include <string.h>

#include "net/in.h"
#include "net/mbuf.h"
#include "net/net.h"

#define OUR_IP 0x0a000002u
#define PEER_IP 0x0a000001u

static const struct net_address host_address = {{2, 'I', 'L', 'K', 0, 2}, OUR_IP, 0xffffff00};

static void peer_says_its_address(void)
{
    struct mbuf *m = m_get(IP_AT + 28, M_FRAME);
    if (!m)
        return; /* the answer is lost */
    m->m_data += IP_AT;
    m->m_len = 28;
    memcpy(m->m_data, (const uint8_t[]){0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 1}, 14);
    put32(m->m_data + 14, PEER_IP);
    memcpy(m->m_data + 18, net_own.ether, 6);
    put32(m->m_data + 24, OUR_IP);
    arp_input(m);
}

#endif
