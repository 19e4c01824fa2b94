/* Names of hosts (netdb.h). Each line of /etc/hosts is an address, its name, and aliases; # begins a comment. */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS "/etc/hosts"
#define LINE 256
#define BLANKS " \t\r\n"
#define FLAGS (AI_PASSIVE | AI_CANONNAME | AI_NUMERICHOST | AI_NUMERICSERV)
#define LOOPBACK 0x7f000001u

static const struct {
    const char *name;
    unsigned port;
} services[] = {{"echo", 7}, {"discard", 9}, {"ssh", 22}, {"telnet", 23}, {"domain", 53}, {"http", 80}, {"https", 443}};

struct found {
    struct addrinfo *first, **end;
    int socktype, protocol;
    in_port_t port;
};

/* Appends an address. */
static int add(struct found *f, in_addr_t address, const char *canonical)
{
    struct addrinfo *of = calloc(1, sizeof *of + sizeof(struct sockaddr_in));
    char *name = canonical ? strdup(canonical) : 0;
    if (!of || (canonical && !name)) {
        free(of);
        free(name);
        return EAI_MEMORY;
    }
    struct sockaddr_in *to = (struct sockaddr_in *)(of + 1);
    *to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = f->port, .sin_addr = {address}};
    *of = (struct addrinfo){.ai_family = AF_INET,
                            .ai_socktype = f->socktype,
                            .ai_protocol = f->protocol,
                            .ai_addrlen = sizeof *to,
                            .ai_addr = (struct sockaddr *)to,
                            .ai_canonname = name};
    *f->end = of;
    f->end = &of->ai_next;
    return 0;
}

/* Every line with the name; EAI_NONAME: there is none. */
static int search_hosts(struct found *f, const char *name, int canonical)
{
    FILE *hosts = fopen(HOSTS, "r");
    char line[LINE], *rest;
    int error = EAI_NONAME;
    if (!hosts)
        return EAI_NONAME;
    while (error != EAI_MEMORY && fgets(line, sizeof line, hosts)) {
        struct in_addr address;
        line[strcspn(line, "#")] = 0;
        char *word = strtok_r(line, BLANKS, &rest), *official = word ? strtok_r(0, BLANKS, &rest) : 0;
        if (!official || !inet_aton(word, &address))
            continue;
        for (word = official; word && strcasecmp(word, name); word = strtok_r(0, BLANKS, &rest))
            ;
        if (word)
            error = add(f, address.s_addr, canonical && !f->first ? official : 0);
    }
    fclose(hosts);
    return error;
}

static int port_of(const char *service, int numeric, in_port_t *port)
{
    char *end;
    unsigned long n = strtoul(service, &end, 10);
    if (*service >= '0' && *service <= '9' && !*end && n <= 65535) {
        *port = htons((uint16_t)n);
        return 0;
    }
    for (unsigned i = 0; !numeric && i < sizeof services / sizeof *services; i++)
        if (!strcmp(services[i].name, service)) {
            *port = htons((uint16_t)services[i].port);
            return 0;
        }
    return numeric ? EAI_NONAME : EAI_SERVICE;
}

static int find(struct found *f, const char *name, int flags)
{
    struct in_addr address;
    const char *canonical = flags & AI_CANONNAME ? name : 0;
    if (!name)
        return add(f, flags & AI_PASSIVE ? INADDR_ANY : htonl(LOOPBACK), 0);
    if (inet_aton(name, &address))
        return add(f, address.s_addr, canonical);
    if (flags & AI_NUMERICHOST)
        return EAI_NONAME;
    int error = search_hosts(f, name, flags & AI_CANONNAME);
    return error == EAI_NONAME && !strcasecmp(name, "localhost") ? add(f, htonl(LOOPBACK), canonical) : error;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result)
{
    static const struct addrinfo none;
    const struct addrinfo *h = hints ? hints : &none;
    struct found f = {.socktype = SOCK_STREAM, .protocol = IPPROTO_TCP};
    f.end = &f.first;
    if (!name && !service)
        return EAI_NONAME;
    if (h->ai_flags & ~FLAGS || (h->ai_flags & AI_CANONNAME && !name))
        return EAI_BADFLAGS;
    if (h->ai_family != AF_UNSPEC && h->ai_family != AF_INET)
        return EAI_FAMILY;
    if ((h->ai_socktype && h->ai_socktype != SOCK_STREAM) || (h->ai_protocol && h->ai_protocol != IPPROTO_TCP))
        return EAI_SOCKTYPE;
    int error = service ? port_of(service, h->ai_flags & AI_NUMERICSERV, &f.port) : 0;
    if (!error)
        error = find(&f, name, h->ai_flags);
    if (error)
        freeaddrinfo(f.first);
    else
        *result = f.first;
    return error;
}

void freeaddrinfo(struct addrinfo *of)
{
    for (struct addrinfo *next; of; of = next) {
        next = of->ai_next;
        free(of->ai_canonname);
        free(of);
    }
}

const char *gai_strerror(int error)
{
    switch (error) {
    case 0: return "no error";
    case EAI_BADFLAGS: return "flags that there are not";
    case EAI_FAMILY: return "addresses of such a family are not supported";
    case EAI_MEMORY: return "memory is out";
    case EAI_NONAME: return "no host of this name";
    case EAI_SERVICE: return "no service of this name";
    case EAI_SOCKTYPE: return "sockets of such a type are not supported";
    default: return "unknown error";
    }
}
