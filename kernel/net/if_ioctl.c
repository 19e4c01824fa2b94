/*
 * Requests about interfaces and routes (user/abi.h, if_ioctl.h). The interfaces are the loop-back and the Ethernet
 * interface. A new address or mask counts for what is sent and received from then on; connections keep theirs.
 *
 * Locking: if_lock, a mutex, held while an address, a mask or the state is changed.
 */
#include "net/if_ioctl.h"

#include <errno.h>
#include <string.h>

#include "lib/minmax.h"
#include "lock/lock.h"
#include "net/if_ether.h"
#include "net/in.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/net_lists.h"
#include "net/policy.h"
#include "net/route.h"
#include "user/abi.h"
#include "vm/map.h"

#define LOOP_MTU IP_MOST
#define ARPHRD_ETHER 1
#define ARPHRD_LOOPBACK 772

static const char *const NAME[] = {"lo", "eth0"};
#define INTERFACES 2
enum { LOOP, ETHER }; /* the number that programs know is one more */

DEFINE_MUTEX(if_lock, "interfaces");

static struct user_sockaddr_in sockaddr_of(uint32_t ip)
{
    struct user_sockaddr_in of = {.family = USER_AF_INET};
    put32((uint8_t *)&of.address, ip);
    return of;
}

static uint32_t if_address(unsigned i)
{
    return i == LOOP ? INADDR_LOOPBACK : net_own.ip;
}

static uint32_t if_mask(unsigned i)
{
    return i == LOOP ? 0xff000000u : net_own.mask;
}

static int16_t if_flags(unsigned i)
{
    if (i == LOOP)
        return USER_IFF_UP | USER_IFF_LOOPBACK | USER_IFF_RUNNING;
    return USER_IFF_BROADCAST | (if_ether_is_up() ? USER_IFF_UP | USER_IFF_RUNNING : 0);
}

static int if_named(const char *name)
{
    for (int i = 0; i < INTERFACES; i++)
        if (!strncmp(name, NAME[i], sizeof((struct user_ifreq){0}).name))
            return i;
    return -ENODEV;
}

static int if_list(struct vm_map *map, uint32_t at)
{
    struct user_ifconf list;
    int error = copyin(map, &list, at, sizeof list);
    uint32_t room = !list.to || list.length < 0 ? 0 : (uint32_t)list.length / sizeof(struct user_ifreq);
    if (error)
        return error;
    list.length = (int32_t)((list.to ? MIN(room, INTERFACES) : INTERFACES) * sizeof(struct user_ifreq));
    for (unsigned i = 0; i < MIN(room, INTERFACES) && !error; i++) {
        struct user_ifreq of = {.of.address = sockaddr_of(if_address(i))};
        strcpy(of.name, NAME[i]);
        error = copyout(map, list.to + i * (uint32_t)sizeof of, &of, sizeof of);
    }
    return error ? error : copyout(map, at, &list, sizeof list);
}

/* One host's, and no group's. */
static bool is_host_address(uint32_t ip, uint32_t mask)
{
    return ip >> 24 && ip >> 24 != LOOPBACK_NET && ip >> 28 < 0xe && ip & ~mask && (ip | mask) != INADDR_BROADCAST;
}

static bool is_mask(uint32_t mask)
{
    return mask && ~mask > 1 && !(~mask & (~mask + 1)); /* a network has two hosts at least */
}

static int if_set(unsigned i, uint32_t request, const struct user_ifreq *to)
{
    uint32_t value = get32((const uint8_t *)&to->of.address.address);
    int error = 0;
    if (i == LOOP)
        return -EOPNOTSUPP;
    mutex_lock(&if_lock);
    if (request == USER_SIOCSIFFLAGS)
        if_ether_set_up(to->of.flags & USER_IFF_UP);
    else if (to->of.address.family != USER_AF_INET)
        error = -EAFNOSUPPORT;
    else if (request == USER_SIOCSIFADDR && is_host_address(value, net_own.mask))
        net_own.ip = value;
    else if (request == USER_SIOCSIFNETMASK && is_mask(value) && is_host_address(net_own.ip, value))
        net_own.mask = value;
    else
        error = -EINVAL;
    mutex_unlock(&if_lock);
    inet_enter();
    route_address_changed();
    if (!error && request == USER_SIOCSIFADDR)
        arp_announce();
    inet_leave();
    return error;
}

static void if_hardware(unsigned i, struct user_ifreq *of)
{
    memset(&of->of, 0, sizeof of->of);
    of->of.hardware.family = i == LOOP ? ARPHRD_LOOPBACK : ARPHRD_ETHER;
    if (i == ETHER)
        memcpy(of->of.hardware.address, net_own.ether, sizeof net_own.ether);
}

/* Fills in the answer; -ENOTTY: it is no request about an interface. */
static int if_answer(unsigned i, uint32_t request, struct user_ifreq *of)
{
    switch (request) {
    case USER_SIOCGIFFLAGS: of->of.flags = if_flags(i); return 0;
    case USER_SIOCGIFADDR: of->of.address = sockaddr_of(if_address(i)); return 0;
    case USER_SIOCGIFNETMASK: of->of.address = sockaddr_of(if_mask(i)); return 0;
    case USER_SIOCGIFBRDADDR: of->of.address = sockaddr_of(i == LOOP ? 0 : net_own.ip | ~net_own.mask); return 0;
    case USER_SIOCGIFMTU: of->of.number = i == LOOP ? LOOP_MTU : IP_MTU; return 0;
    case USER_SIOCGIFINDEX: of->of.number = (int32_t)i + 1; return 0;
    case USER_SIOCGIFHWADDR: if_hardware(i, of); return 0;
    default: return -ENOTTY;
    }
}

static uint32_t ip_in(const struct user_sockaddr_in *a)
{
    return get32((const uint8_t *)&a->address);
}

static int route_ioctl(struct vm_map *map, uint32_t request, uint32_t at)
{
    struct user_rtentry of;
    int error = copyin(map, &of, at, sizeof of);
    if (error)
        return error;
    uint32_t mask = of.flags & USER_RTF_HOST ? INADDR_BROADCAST : ip_in(&of.mask);
    uint32_t gateway = of.flags & USER_RTF_GATEWAY ? ip_in(&of.gateway) : 0;
    if (of.to.family != USER_AF_INET || (gateway && of.gateway.family != USER_AF_INET))
        return -EAFNOSUPPORT;
    inet_enter();
    error = request == USER_SIOCADDRT ? route_add(ip_in(&of.to), mask, gateway, of.flags & USER_RTF_REJECT)
                                      : route_delete(ip_in(&of.to), mask, gateway);
    inet_leave();
    return error;
}

int if_ioctl(struct vm_map *map, uint32_t request, uint32_t at)
{
    struct user_ifreq of;
    if (request == USER_SIOCGIFCONF)
        return if_list(map, at);
    if (request == USER_SIOCADDRT || request == USER_SIOCDELRT)
        return route_ioctl(map, request, at);
    bool sets = request == USER_SIOCSIFFLAGS || request == USER_SIOCSIFADDR || request == USER_SIOCSIFNETMASK;
    bool names = request == USER_SIOCGIFNAME;
    if (!sets && !names && if_answer(LOOP, request, &of))
        return net_lists_ioctl(map, request, at);
    int error = copyin(map, &of, at, sizeof of);
    if (error)
        return error;
    if (names && (of.of.number < 1 || of.of.number > INTERFACES))
        return -ENODEV;
    int i = names ? of.of.number - 1 : if_named(of.name);
    if (i < 0)
        return i;
    if (sets)
        return if_set((unsigned)i, request, &of);
    if (names)
        strcpy(of.name, NAME[i]);
    else
        if_answer((unsigned)i, request, &of);
    return copyout(map, at, &of, sizeof of);
}
