/* The order of bytes on the wire, and addresses as text. */
#ifndef _ARPA_INET_H
#define _ARPA_INET_H

#include <stdint.h>

typedef uint32_t in_addr_t;

struct in_addr {
    in_addr_t s_addr;
};

#define htons(x) __builtin_bswap16(x)
#define ntohs(x) __builtin_bswap16(x)
#define htonl(x) __builtin_bswap32(x)
#define ntohl(x) __builtin_bswap32(x)

in_addr_t inet_addr(const char *text); /* INADDR_NONE: no valid address */
int inet_aton(const char *text, struct in_addr *to); /* 0: no valid address */
char *inet_ntoa(struct in_addr address);
#endif
