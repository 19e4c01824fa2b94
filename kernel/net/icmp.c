/* ICMP: answers echo requests (RFC 792), in the packet that they came in. */
#include <string.h>

#include "net/in.h"
#include "net/net.h"

#define ECHO_REPLY 0
#define ECHO_REQUEST 8
#define ICMP_HEADER 8
#define REPLY_TTL 64

void icmp_input(struct mbuf *m, uint32_t header)
{
    uint8_t *ip = m->m_data, *icmp = ip + header;
    uint32_t length = m->m_len - header, from = get32(ip + 12);
    NET_COUNT(icmp_in);
    if (length < ICMP_HEADER || in_cksum(icmp, length, 0)) {
        NET_COUNT(icmp_bad);
        m_free(m);
        return;
    }
    /* Nobody answers what went to all, or came from no one host (RFC 1122, 3.2.2.6). */
    bool to_all = get32(ip + 16) != net_own.ip, from_all = !from || from == INADDR_BROADCAST || from >> 28 == 0xe ||
                                                           from == (net_own.ip | ~net_own.mask) || from == net_own.ip;
    if (icmp[0] != ECHO_REQUEST || icmp[1] || to_all || from_all) {
        NET_COUNT(icmp_ignored);
        m_free(m);
        return;
    }
    NET_COUNT(icmp_echo);
    icmp[0] = ECHO_REPLY;
    put16(icmp + 2, 0);
    put16(icmp + 2, in_cksum(icmp, length, 0));
    if (header > IP_HEADER) { /* options are not sent back */
        uint32_t options = header - IP_HEADER;
        memmove(ip + options, ip, IP_HEADER);
        m_adj(m, options);
        ip = m->m_data;
        ip[0] = 0x45;
        put16(ip + 2, m->m_len);
    }
    put32(ip + 16, from);
    put32(ip + 12, net_own.ip);
    put16(ip + 6, 0);
    ip[8] = REPLY_TTL;
    ip_output(m, from);
}
