/* The counters and the addresses of the stack (net.h). */
#include "net/net.h"

#include "lib/printf.h"

struct net_address net_own;
struct net_counts net_count[MAX_HARTS];
void (*if_transmit)(struct mbuf *m);

struct net_counts net_counts(void)
{
    struct net_counts sum = {0};
    for (unsigned h = 0; h < MAX_HARTS; h++) {
#define NET_COUNT_ADD(name) sum.name += net_count[h].name;
        NET_COUNTS(NET_COUNT_ADD)
    }
    return sum;
}

void net_print_results(void)
{
    struct net_counts sum = net_counts();
    kprintf("@net mbufs=%lu clusters=%lu", (unsigned long)m_in_use(), (unsigned long)cluster_pool.in_use);
#define NET_COUNT_PRINT(name) kprintf(" " #name "=%lu", (unsigned long)sum.name);
    NET_COUNTS(NET_COUNT_PRINT)
    kprintf("\n");
}
