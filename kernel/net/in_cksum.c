/* The internet checksum (in.h). */
#include "net/in.h"
#include "net/mbuf.h"

/* In the machine's order, a word at a time: the sum of swapped numbers is the swapped sum (RFC 1071, 2B). */
uint32_t in_cksum(const uint8_t *p, uint32_t length, uint32_t sum)
{
    uint64_t total = 0;
    if ((uintptr_t)p & 2 && length >= 2) {
        total = *(const uint16_t *)p;
        p += 2;
        length -= 2;
    }
    for (; length >= 32; p += 32, length -= 32) /* in a loop of one word half of the time is overhead */
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++)
            total += ((const uint32_t *)p)[i];
    for (; length >= 4; p += 4, length -= 4)
        total += *(const uint32_t *)p;
    if (length >= 2) {
        total += *(const uint16_t *)p;
        p += 2;
    }
    if (length & 1)
        total += *p;
    while (total >> 16)
        total = (total & 0xffff) + (total >> 16);
    uint32_t folded = (uint32_t)(total >> 8 | total << 8) & 0xffff;
    folded += sum;
    folded = (folded & 0xffff) + (folded >> 16);
    folded = (folded & 0xffff) + (folded >> 16);
    return ~folded & 0xffff;
}

uint32_t in_cksum_packet(const struct mbuf *m, uint32_t from, uint32_t sum)
{
    sum = in_cksum(m->m_data + from, m->m_len - from, sum);
    while ((m = m->m_next))
        sum = in_cksum(m->m_data, m->m_len, ~sum & 0xffff);
    return sum;
}
