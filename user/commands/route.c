/*
 * route: prints the routes, adds or deletes one:
 *
 *   route
 *   route add|del [-net|-host] TARGET[/BITS] [netmask MASK] [gw GATEWAY] [reject]
 *
 * TARGET is an address or `default`; without BITS or MASK it is a host. Without a gateway it is on this network.
 */
#include <net/route.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "routes.h"

static int usage(void)
{
    fputs("usage: route | route add|del [-net|-host] TARGET[/BITS] [netmask MASK] [gw GATEWAY] [reject]\n", stderr);
    return 2;
}

static int no_address(const char *text)
{
    fprintf(stderr, "route: %s is no address\n", text);
    return 1;
}

static int put_address(struct sockaddr *to, const char *text)
{
    struct sockaddr_in of = {.sin_family = AF_INET};
    int is = inet_aton(text, &of.sin_addr);
    memcpy(to, &of, sizeof *to);
    return is ? 0 : -1;
}

/* TARGET[/BITS]: sets the destination and its mask. */
static int put_target(struct rtentry *r, char *text)
{
    char *slash = strchr(text, '/'), *end = 0;
    unsigned long bits = 32;
    struct sockaddr_in mask = {.sin_family = AF_INET};
    if (!strcmp(text, "default")) {
        bits = 0;
        text = "0.0.0.0";
    } else if (slash) {
        *slash = 0;
        bits = strtoul(slash + 1, &end, 10);
        if (end == slash + 1 || *end || bits > 32)
            return -1;
    }
    mask.sin_addr.s_addr = bits ? htonl(0xffffffffu << (32 - bits)) : 0;
    memcpy(&r->rt_genmask, &mask, sizeof r->rt_genmask);
    return put_address(&r->rt_dst, text);
}

static int change(int fd, int adds, char **word)
{
    struct rtentry r = {.rt_flags = RTF_UP};
    if (*word && (!strcmp(*word, "-net") || !strcmp(*word, "-host")))
        word++;
    if (!*word)
        return usage();
    char *target = *word++;
    if (put_target(&r, target))
        return no_address(target);
    for (; *word; word++) {
        if (!strcmp(*word, "reject")) {
            r.rt_flags |= RTF_REJECT;
        } else if (word[1] && (!strcmp(*word, "gw") || !strcmp(*word, "netmask"))) {
            int gateway = **word++ == 'g';
            r.rt_flags |= gateway ? RTF_GATEWAY : 0;
            if (put_address(gateway ? &r.rt_gateway : &r.rt_genmask, *word))
                return no_address(*word);
        } else {
            return usage();
        }
    }
    if (ioctl(fd, adds ? SIOCADDRT : SIOCDELRT, &r)) {
        fprintf(stderr, "route: %s: %s\n", target, strerror(errno));
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int adds = argc > 1 && !strcmp(argv[1], "add"), deletes = argc > 1 && !strcmp(argv[1], "del");
    if (argc > 1 && !adds && !deletes && strcmp(argv[1], "-n"))
        return usage();
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0) {
        perror("route");
        return 1;
    }
    return adds || deletes ? change(fd, adds, argv + 2) : print_routes(fd, "route") ? 1 : 0;
}
