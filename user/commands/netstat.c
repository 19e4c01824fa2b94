/*
 * netstat: what the network has and has done.
 *
 *   netstat [-a]   sockets with their states; with -a those that listen, too
 *   netstat -i     interfaces and their packets
 *   netstat -m     memory of packets
 *   netstat -r     routes
 *   netstat -s     all counters that are not 0 (kernel/net/net.h)
 */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "routes.h"

#define LISTEN 1

static int failed(void)
{
    perror("netstat");
    return 1;
}

static const char *end_text(uint32_t ip, uint16_t port, char *to, size_t size)
{
    char address[16], number[8] = "*";
    if (port)
        snprintf(number, sizeof number, "%u", ntohs(port));
    snprintf(to, size, "%s:%s", ip ? ip_text(ip, address) : "*", number);
    return to;
}

static int print_sockets(int fd, int all)
{
    static const char *const states[] = {"CLOSED",      "LISTEN",     "SYN_SENT",   "SYN_RECEIVED",
                                         "ESTABLISHED", "CLOSE_WAIT", "FIN_WAIT_1", "CLOSING",
                                         "LAST_ACK",    "FIN_WAIT_2", "TIME_WAIT"};
    unsigned count;
    struct user_socket *s = list_of(fd, USER_SIOCSOCKETS, sizeof *s, &count);
    if (!s)
        return failed();
    puts("Proto Recv-Q Send-Q Local Address         Foreign Address       State");
    for (unsigned i = 0; i < count; i++) {
        int stream = s[i].type == SOCK_STREAM;
        char here[24], there[24];
        if (!s[i].port || (!all && (stream ? s[i].state == LISTEN : !s[i].peer_port)))
            continue;
        printf("%-5s %6lu %6lu %-21s %-21s %s\n",
               stream                  ? "tcp"
               : s[i].type == SOCK_RAW ? "raw"
                                       : "udp",
               (unsigned long)s[i].received, (unsigned long)s[i].sent,
               end_text(s[i].address, s[i].port, here, sizeof here),
               end_text(s[i].peer, s[i].peer_port, there, sizeof there),
               stream && s[i].state < sizeof states / sizeof *states ? states[s[i].state] : "");
    }
    free(s);
    return 0;
}

static const struct user_count *counted;
static unsigned counts;

static unsigned long of_count(const char *name)
{
    for (unsigned i = 0; i < counts; i++)
        if (!strcmp(counted[i].name, name))
            return counted[i].value;
    return 0;
}

static int print_counts(void)
{
    for (unsigned i = 0; i < counts; i++)
        if (counted[i].value)
            printf("%10lu %s\n", (unsigned long)counted[i].value, counted[i].name);
    return 0;
}

static int print_interfaces(void)
{
    puts("Iface   MTU      RX-OK  RX-DRP      TX-OK  TX-DRP");
    printf("%-5s %5u %10lu %7lu %10lu %7lu\n", "lo", 65535, of_count("looped") - of_count("loop_full"),
           of_count("loop_full"), of_count("looped"), 0ul);
    printf("%-5s %5u %10lu %7lu %10lu %7lu\n", "eth0", 1500, of_count("received"),
           of_count("no_protocol") + of_count("rx_down"), of_count("sent"),
           of_count("tx_full") + of_count("tx_down") + of_count("no_room"));
    return 0;
}

static void print_pool(const char *what, const struct user_mbuf_pool *p)
{
    printf("%-8s %6lu %7lu %7lu %7lu %7lu %7lu %7lu\n", what, (unsigned long)p->bytes, (unsigned long)p->in_use,
           (unsigned long)p->peak, (unsigned long)p->most, (unsigned long)p->free, (unsigned long)p->denied,
           (unsigned long)p->waits);
}

static int print_memory(void)
{
    struct user_mbuf_status m;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || ioctl(fd, USER_SIOCMBUFSTATUS, &m))
        return failed();
    puts("Pool      Bytes  In use    Peak   Limit    Free  Denied   Waits");
    print_pool("mbufs", &m.mbufs);
    print_pool("clusters", &m.clusters);
    return 0;
}

int main(int argc, char **argv)
{
    int what = argc == 2 && argv[1][0] == '-' && !argv[1][2] ? argv[1][1] : argc == 1 ? 'c' : 0;
    if (!what || !strchr("acimrs", what)) {
        fputs("usage: netstat [-a | -i | -m | -r | -s]\n", stderr);
        return 2;
    }
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0)
        return failed();
    if (strchr("is", what) && !(counted = list_of(fd, USER_SIOCNETCOUNTS, sizeof *counted, &counts)))
        return failed();
    switch (what) {
    case 'i': return print_interfaces();
    case 'm': return print_memory();
    case 'r': return print_routes(fd, "netstat") ? 1 : 0;
    case 's': return print_counts();
    default: return print_sockets(fd, what == 'a');
    }
}
