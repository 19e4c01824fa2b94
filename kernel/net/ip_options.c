/*
 * Options of received packets (RFC 791; RFC 1122, 3.2.1.8). Recorded routes, timestamps and security are ignored. A
 * source route that goes on beyond this host is not followed, as this host forwards nothing (RFC 1122, 3.3.5). One that
 * ends here says how an answer goes back: 4.3BSD kept that in a static structure, which another thread could change
 * before the answer was sent (paper `mach`, section 4.3.2); here it stays in the packet that becomes the answer.
 */
#include <string.h>

#include "net/in.h"
#include "net/net.h"

#define OPTION_END 0
#define OPTION_NOTHING 1
#define LOOSE_ROUTE 131
#define STRICT_ROUTE 137
#define ROUTE_HEADER 3 /* type, length, pointer, which counts from 1 */

static bool is_source_route(uint32_t type)
{
    return type == LOOSE_ROUTE || type == STRICT_ROUTE;
}

/* The length of an option, which is its first byte; 0: it is wrong, or longer than `room`. */
static uint32_t option_length(const uint8_t *option, uint32_t room)
{
    if (option[0] == OPTION_NOTHING)
        return 1;
    uint32_t length = room >= 2 ? option[1] : 0;
    bool wrong = length < 2 || length > room ||
                 (is_source_route(option[0]) &&
                  (length < ROUTE_HEADER || length % 4 != ROUTE_HEADER || option[2] < 4 || option[2] % 4));
    return wrong ? 0 : length;
}

/* Where a header's source route is, or 0; *wrong: where an option is that cannot be read, or a second route, or 0. */
static uint32_t source_route(const uint8_t *ip, uint32_t header, uint32_t *wrong)
{
    uint32_t route = 0;
    *wrong = 0;
    for (uint32_t at = IP_HEADER, length; at < header && ip[at] != OPTION_END; at += length) {
        length = option_length(ip + at, header - at);
        if (!length || (is_source_route(ip[at]) && route)) {
            *wrong = at;
            return 0;
        }
        if (is_source_route(ip[at]))
            route = at;
    }
    return route;
}

bool ip_options_pass(struct mbuf *m, uint32_t header)
{
    const uint8_t *ip = m->m_data;
    uint32_t wrong, route = source_route(ip, header, &wrong);
    bool goes_on = route && ip[route + 2] <= ip[route + 1];
    if (!wrong && !goes_on)
        return true;
    if (wrong)
        NET_COUNT(ip_bad);
    else
        NET_COUNT(ip_other);
    if (get16(ip + 6) & IP_OFFSET) /* no error is about such a fragment (RFC 1122, 3.2.2) */
        m_free(m);
    else if (wrong)
        icmp_error_at(m, ICMP_PARAMETER_PROBLEM, 0, wrong);
    else
        icmp_error_at(m, ICMP_UNREACHABLE, ICMP_ROUTE_FAILED, 0);
    return false;
}

/* Replaces the options by a route of `hosts` addresses, those of `back` and then `to`; or by none. */
static void put_route(struct mbuf *m, uint32_t header, uint8_t type, const uint8_t *back, uint32_t hosts, uint32_t to)
{
    uint8_t fixed[IP_HEADER];
    uint32_t options = hosts ? 1 + ROUTE_HEADER + 4 * hosts : 0, less = header - IP_HEADER - options;
    memcpy(fixed, m->m_data, IP_HEADER);
    m_adj(m, less);
    uint8_t *ip = m->m_data, *option = ip + IP_HEADER;
    memcpy(ip, fixed, IP_HEADER);
    ip[0] = (uint8_t)(0x40 | (IP_HEADER + options) / 4);
    put16(ip + 2, m_packet_length(m));
    if (!hosts)
        return;
    option[0] = OPTION_NOTHING;
    option[1] = type;
    option[2] = (uint8_t)(ROUTE_HEADER + 4 * hosts);
    option[3] = 4;
    memcpy(option + 4, back, 4 * (hosts - 1));
    put32(option + 4 * hosts, to);
}

uint32_t ip_options_answer(struct mbuf *m, uint32_t header)
{
    const uint8_t *ip = m->m_data;
    uint32_t wrong, route = source_route(ip, header, &wrong), to = get32(ip + 12);
    uint32_t hosts = route && !m->m_next ? (ip[route + 1] - ROUTE_HEADER) / 4u : 0;
    uint32_t first = hosts ? get32(ip + route + 4 * hosts - 1) : to;
    uint8_t type = ip[route],
            back[4 * 9]; /* as many as a header has room for: the recorded ones, the last of them first */
    if (!ip_is_other_host(first)) {
        hosts = 0;
        first = to;
    }
    for (uint32_t i = 1; i < hosts; i++)
        memcpy(back + 4 * (i - 1), ip + route + ROUTE_HEADER + 4 * (hosts - 1 - i), 4);
    put_route(m, header, type, back, hosts, to);
    return first;
}
