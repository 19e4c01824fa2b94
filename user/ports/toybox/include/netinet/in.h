/* The parts of toybox's structures beside IPv4. */
#ifndef TOYBOX_NETINET_IN_H
#define TOYBOX_NETINET_IN_H

#include <sys/socket.h>

#include_next <netinet/in.h>

#define IPPROTO_IPV6 41

struct in6_addr {
    unsigned char s6_addr[16];
};
struct sockaddr_in6 {
    sa_family_t sin6_family;
    in_port_t sin6_port;
    unsigned sin6_flowinfo;
    struct in6_addr sin6_addr;
    unsigned sin6_scope_id;
};
struct sockaddr_storage {
    sa_family_t ss_family;
    char ss_data[126];
};
#endif
