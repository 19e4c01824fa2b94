/* The table of routes (route.h). */
#include "net/route.h"

#include <errno.h>

#include "mem/zone.h"
#include "net/if_ether.h"
#include "net/in.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/policy.h"
#include "user/abi.h"

DEFINE_ZONE(route_zone, "route", sizeof(struct route), _Alignof(struct route), SPL_SOFTPREEMPT, 0);
DEFINE_ROUTE_LOCK;
static TAILQ_HEAD(, route) routes = TAILQ_HEAD_INITIALIZER(routes);
static unsigned route_count, redirect_count;
static bool has_inside; /* routes to parts of the interface's own network: most hosts have none, and need no look-up */

/* Without threads there is one context, and no program that changes the table (if_ether.h). */
static void table_lock(bool changes)
{
    if (if_ether_in_threads)
        changes ? route_lock() : route_lock_shared();
}

static void table_unlock(void)
{
    if (if_ether_in_threads)
        route_unlock();
}

static bool on_network(uint32_t ip)
{
    return (ip & net_own.mask) == (net_own.ip & net_own.mask);
}

static bool route_fits(const struct route *r, uint32_t to)
{
    return (to & r->mask) == r->to;
}

/* With the lock held, for these three: the longest prefix, the route of this prefix. */
static struct route *longest_prefix(uint32_t to)
{
    struct route *best = 0, *r;
    TAILQ_FOREACH(r, &routes, link)
        if (route_fits(r, to) && (!best || r->mask > best->mask))
            best = r;
    return best;
}

static struct route *exact_route(uint32_t to, uint32_t mask)
{
    struct route *r;
    TAILQ_FOREACH(r, &routes, link)
        if (r->to == to && r->mask == mask)
            return r;
    return 0;
}

static void look_inside(void)
{
    struct route *r;
    bool has = false;
    TAILQ_FOREACH(r, &routes, link)
        has |= on_network(r->to) && r->mask >= net_own.mask;
    __atomic_store_n(&has_inside, has, __ATOMIC_RELAXED); /* read without the lock */
}

/* Enters a route with one reference, the table's. */
static void route_enter(struct route *r)
{
    route_count++;
    redirect_count += !!(r->flags & USER_RTF_DYNAMIC);
    TAILQ_INSERT_TAIL(&routes, r, link);
    look_inside();
}

/* The caller releases the table's reference. */
static void route_leave(struct route *r)
{
    route_count--;
    redirect_count -= !!(r->flags & USER_RTF_DYNAMIC);
    TAILQ_REMOVE(&routes, r, link);
    look_inside();
}

void route_release(struct route *r)
{
    if (!__atomic_sub_fetch(&r->references, 1, __ATOMIC_ACQ_REL))
        zone_free(&route_zone, r);
}

static struct route *route_create(uint32_t to, uint32_t mask, uint32_t gateway, uint32_t flags)
{
    struct route *r = zone_alloc(&route_zone);
    flags |= USER_RTF_UP | (gateway ? USER_RTF_GATEWAY : 0) | (mask == INADDR_BROADCAST ? USER_RTF_HOST : 0);
    if (r)
        *r = (struct route){.to = to, .mask = mask, .gateway = gateway, .flags = flags, .references = 1};
    return r;
}

static bool is_gateway(uint32_t ip)
{
    return on_network(ip) && ip_is_other_host(ip);
}

int route_add(uint32_t to, uint32_t mask, uint32_t gateway, uint32_t flags)
{
    if ((~mask & (~mask + 1)) || to & ~mask)
        return -EINVAL;
    if (gateway && !is_gateway(gateway))
        return -ENETUNREACH;
    struct route *r = route_create(to, mask, gateway, flags & USER_RTF_REJECT);
    if (!r)
        return -ENOBUFS;
    table_lock(true);
    int error = exact_route(to, mask) ? -EEXIST : route_count >= ROUTES_MOST ? -ENOBUFS : 0;
    if (!error)
        route_enter(r);
    table_unlock();
    if (error)
        route_release(r);
    return error;
}

int route_delete(uint32_t to, uint32_t mask, uint32_t gateway)
{
    table_lock(true);
    struct route *r = exact_route(to, mask);
    if (r && gateway && r->gateway != gateway)
        r = 0;
    if (r)
        route_leave(r);
    table_unlock();
    if (!r)
        return -ESRCH;
    route_release(r);
    return 0;
}

struct route *route_find(uint32_t to)
{
    table_lock(false);
    struct route *r = longest_prefix(to);
    if (r)
        __atomic_fetch_add(&r->references, 1, __ATOMIC_RELAXED);
    table_unlock();
    return r;
}

/* The first hop by a route that was found, or 0: the interface's own network is one, with its mask. */
static uint32_t hop_by(const struct route *r, uint32_t to)
{
    if (on_network(to) && (!r || r->mask < net_own.mask))
        return to;
    if (!r || r->flags & USER_RTF_REJECT)
        return 0;
    return r->gateway ? r->gateway : to;
}

uint32_t route_first_hop(uint32_t to)
{
    if (!__atomic_load_n(&has_inside, __ATOMIC_RELAXED) && on_network(to))
        return to;
    struct route *r = route_find(to);
    uint32_t hop = hop_by(r, to);
    if (r) {
        __atomic_fetch_add(&r->uses, 1, __ATOMIC_RELAXED);
        route_release(r);
    }
    return hop;
}

/* Removes the oldest redirect if there are as many as there may be. With the lock held. */
static struct route *route_make_room(void)
{
    struct route *r = 0;
    if (redirect_count >= REDIRECTS_MOST || route_count >= ROUTES_MOST)
        TAILQ_FOREACH(r, &routes, link)
            if (r->flags & USER_RTF_DYNAMIC)
                break;
    if (r)
        route_leave(r);
    return r;
}

/* A host's route gets another gateway as a new entry: a packet under way keeps the old one. */
void route_redirect(uint32_t to, uint32_t gateway, uint32_t from)
{
    struct route *r = is_gateway(gateway) && ip_is_other_host(to) && !on_network(to)
                          ? route_create(to, INADDR_BROADCAST, gateway, USER_RTF_DYNAMIC)
                          : 0;
    if (!r)
        return;
    struct route *old = 0, *oldest = 0;
    table_lock(true);
    const struct route *by = longest_prefix(to);
    bool right = hop_by(by, to) == from && from != gateway;
    if (right) {
        old = exact_route(to, INADDR_BROADCAST);
        if (old) {
            route_leave(old);
            if (!(old->flags & USER_RTF_DYNAMIC))
                r->flags = (r->flags & ~USER_RTF_DYNAMIC) | USER_RTF_MODIFIED;
        }
        oldest = route_make_room();
        right = route_count < ROUTES_MOST;
        if (right)
            route_enter(r);
    }
    table_unlock();
    if (old)
        route_release(old);
    if (oldest)
        route_release(oldest);
    if (!right)
        route_release(r);
}

void route_address_changed(void)
{
    table_lock(true);
    look_inside();
    table_unlock();
}

bool route_at(unsigned place, struct route *to)
{
    if (!place) {
        *to = (struct route){.to = net_own.ip & net_own.mask, .mask = net_own.mask, .flags = USER_RTF_UP};
        return true;
    }
    table_lock(false);
    const struct route *r = TAILQ_FIRST(&routes);
    while (r && --place)
        r = TAILQ_NEXT(r, link);
    if (r)
        *to = *r;
    table_unlock();
    return r;
}
