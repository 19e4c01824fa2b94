/* Names of hosts and services (RFC 3493, 6.1): numbers, localhost, and the entries of /etc/hosts. IPv4, streams. */
#ifndef _NETDB_H
#define _NETDB_H

#include <netinet/in.h>
#include <sys/socket.h>

struct addrinfo {
    int ai_flags, ai_family, ai_socktype, ai_protocol;
    socklen_t ai_addrlen;
    char *ai_canonname;
    struct sockaddr *ai_addr;
    struct addrinfo *ai_next;
};

#define AI_PASSIVE 1 /* without a name: any address of this host; else its loop-back */
#define AI_CANONNAME 2 /* the first one has the first name of its line in the hosts file */
#define AI_NUMERICHOST 4 /* numbers only */
#define AI_NUMERICSERV 8
#define EAI_BADFLAGS 3
#define EAI_FAMILY 5
#define EAI_MEMORY 6
#define EAI_NONAME 8
#define EAI_SERVICE 9
#define EAI_SOCKTYPE 10

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result);
void freeaddrinfo(struct addrinfo *of);
const char *gai_strerror(int error);
#endif
