/*
 * The pools of mbufs and clusters, with zones and pages below them, and what mbufs do with both: limits, the thread
 * that gets memory and returns it, threads that wait, no memory. Sources: net/mbuf.c mem/zone.c mem/page.c
 * lock/simple_lock.c net/waiting.c lib/bootargs.c lib/printf.c. Options: LOCK_DEBUG=0
 */
#include "net/mbuf_pool.c"

#include "lib/random.h"
#include "sched/designated.h"
#include "test/host/host.h"

#define RAM_PAGES 1200
#define MOST 800 /* boot arguments */
#define A_PAGE 26u /* mbufs, on the host */

#include "test/host/ram.h"

char bootargs[64] = "net.mbufs=800 net.clusters=800";
static unsigned threads, wakeups, delays;
static struct mbuf_pool *woken; /* whose thread is to run */
static uint32_t hz = 100;

uint32_t clock_hz(void)
{
    return hz;
}

int clock_ticks_of(const struct user_timespec *t, uint32_t *ticks)
{
    (void)t, (void)ticks;
    return 0;
}

struct thread *thread_create(thread_fn *fn, void *arg, unsigned priority, int bound, const char *name)
{
    static struct thread some;
    CHECK(fn == pool_thread && (arg == &mbuf_pool || arg == &cluster_pool) && name);
    CHECK(priority < PRI_DESIGNATED && bound == ANY_HART);
    threads++;
    return &some;
}

void thread_yield(void)
{
    CHECK(false);
}

void thread_delay(uint32_t ticks)
{
    CHECK_EQUAL(sync_hart()->level, SPL_NONE);
    CHECK(ticks);
    delays++;
}

void thread_wakeup(const void *channel)
{
    for (struct mbuf_pool *p = &mbuf_pool; p; p = p == &mbuf_pool ? &cluster_pool : 0)
        if (channel == &p->wanted)
            woken = p;
    wakeups++;
}

static void (*sleeps)(void); /* what others do while a thread sleeps; 0: a signal comes */

int thread_sleep_interruptibly(const void *channel, struct simple_lock *lock)
{
    CHECK(channel == &cluster_pool && lock == &cluster_pool.lock);
    if (!sleeps)
        return -EINTR;
    uint32_t level = sync_hart()->level;
    simple_unlock(lock);
    sync_hart()->level = SPL_NONE;
    sleeps();
    sync_hart()->level = level;
    simple_lock(lock);
    return 0;
}

static bool second_is_over; /* while the pool's thread sleeps; else it is woken */

void limit_begin(struct limit *l, uint32_t ticks, const void *channel, struct simple_lock *lock)
{
    *l = (struct limit){.channel = channel, .lock = lock, .over = second_is_over && ticks};
    CHECK(!ticks || ticks == hz);
}

void limit_end(struct limit *l)
{
    (void)l;
    CHECK_EQUAL(sync_hart()->level, SPL_NONE);
}

int limit_sleep(const struct limit *l)
{
    (void)l;
    CHECK(false); /* no test lets it sleep without a reason to wake */
    return 0;
}

static bool no_wait_ends(void)
{
    return false;
}

bool (*limit_wait_ends)(void) = no_wait_ends;

/* What the thread of the woken pool does. */
static void the_thread_runs(void)
{
    struct mbuf_pool *p = woken;
    woken = 0;
    if (p)
        pool_turn(p, pool_thread_waits(p));
}

static void a_second_passes(struct mbuf_pool *p)
{
    if (p->total <= p->fill)
        return; /* it sleeps until it is woken */
    second_is_over = true;
    pool_turn(p, pool_thread_waits(p));
    second_is_over = false;
}

static void begin(void)
{
    pages_init(BASE, BASE + sizeof memory);
    pools_start();
    pools_start();
    CHECK_EQUAL(threads, 2);
}

static void *objects[MOST + 1];
static unsigned object_count;

/* Until none is left; the thread runs when it is woken. */
static void take_all(struct mbuf_pool *p, enum mbuf_use use, bool runs)
{
    for (void *o; (o = pool_get(p, use));) {
        CHECK(object_count < MOST);
        CHECK(!((uintptr_t)o % 8));
        memset(o, (int)object_count, p->zone->size);
        objects[object_count++] = o;
        if (runs)
            the_thread_runs();
    }
}

static void put_all(struct mbuf_pool *p, unsigned down_to)
{
    while (object_count > down_to) {
        const uint8_t *bytes = objects[--object_count];
        for (uint32_t i = 0; i < p->zone->size; i++)
            CHECK_EQUAL(bytes[i], (uint8_t)object_count); /* no other one has any of it */
        pool_put(p, objects[object_count]);
    }
}

HOST_TEST(a_pool_has_no_more_than_its_limit_and_returns_the_memory)
{
    begin();
    uint32_t pages = pages_free();
    for (unsigned which = 0; which < 2; which++) {
        struct mbuf_pool *p = which ? &cluster_pool : &mbuf_pool;
        for (unsigned again = 0; again < 3; again++) {
            uint32_t denied = pool_counts(p).denied;
            take_all(p, M_USER, true);
            CHECK_EQUAL(object_count, MOST - 2 * (MOST / 8));
            take_all(p, M_FRAME, true);
            CHECK_EQUAL(object_count, MOST - MOST / 8);
            take_all(p, M_PROTOCOL, true);
            CHECK_EQUAL(object_count, MOST);
            struct pool_counts n = pool_counts(p);
            CHECK(n.in_use == MOST && n.peak == MOST && n.most == MOST && !n.free);
            CHECK_EQUAL(n.denied - denied, 3);
            CHECK(n.pages >= MOST / (which ? 2 : A_PAGE));
            CHECK(!woken); /* it could do nothing */
            put_all(p, 0);
            CHECK_EQUAL(pool_counts(p).free, MOST);
            a_second_passes(p); /* in this one all were needed */
            CHECK_EQUAL(pool_counts(p).free, MOST);
            a_second_passes(p);
            CHECK_EQUAL(pool_counts(p).free, FILL);
            CHECK_EQUAL(p->total, FILL);
            CHECK(pool_counts(p).pages <= (which ? FILL / 2 : FILL / A_PAGE) + 5);
        }
    }
    CHECK(pages - pages_free() <= 4);
}

/* Every other object is freed: the pages of the rest stay, but no more than are needed. */
HOST_TEST(what_is_free_in_pages_that_stay_is_used_first)
{
    begin();
    take_all(&mbuf_pool, M_PROTOCOL, true);
    for (unsigned i = 0; i < MOST; i += 2)
        pool_put(&mbuf_pool, objects[i]);
    uint32_t pages = pool_counts(&mbuf_pool).pages;
    a_second_passes(&mbuf_pool);
    a_second_passes(&mbuf_pool);
    CHECK_EQUAL(pool_counts(&mbuf_pool).free, FILL);
    CHECK(pool_counts(&mbuf_pool).pages <= pages + 1);
    for (unsigned i = 1; i < MOST; i += 2)
        pool_put(&mbuf_pool, objects[i]);
    a_second_passes(&mbuf_pool);
    a_second_passes(&mbuf_pool);
    CHECK(pool_counts(&mbuf_pool).pages <= FILL / A_PAGE + 5);
}

HOST_TEST(the_thread_is_woken_once_and_before_all_are_in_use)
{
    begin();
    for (unsigned i = 0; i <= FILL - LOW; i++) {
        CHECK(!woken);
        objects[object_count++] = pool_get(&cluster_pool, M_PROTOCOL);
    }
    CHECK(woken == &cluster_pool && wakeups == 1);
    for (unsigned i = 1; i < LOW; i++)
        CHECK((objects[object_count++] = pool_get(&cluster_pool, M_FRAME)));
    CHECK_EQUAL(wakeups, 1);
    CHECK(!pool_get(&cluster_pool, M_FRAME)); /* an interrupt has only what is there */
    CHECK(!m_get(MLEN + 1, M_FRAME));
    CHECK_EQUAL(m_in_use(), 0);
    CHECK_EQUAL(cluster_pool.denied, 2);
    the_thread_runs();
    CHECK_EQUAL(cluster_pool.free_count, FILL);
    while (object_count)
        pool_put(&cluster_pool, objects[--object_count]);
    CHECK_EQUAL(wakeups, 1); /* no thread waits */
}

static uint32_t kept_pages[RAM_PAGES];
static unsigned kept_count;

static void keep_all_pages(void)
{
    while ((kept_pages[kept_count] = page_alloc_raw()))
        kept_count++;
}

static void free_all_pages(void)
{
    while (kept_count)
        page_free(kept_pages[--kept_count]);
}

static void memory_comes_back(void)
{
    free_all_pages();
    CHECK_EQUAL(cluster_pool.sleepers, 1);
    CHECK(cluster_pool.wanted); /* the thread goes on trying */
    woken = &cluster_pool;
    the_thread_runs();
    CHECK_EQUAL(cluster_pool.free_count, FILL);
}

HOST_TEST(without_memory_it_has_what_it_had_and_gets_more_when_there_is_some)
{
    begin();
    keep_all_pages();
    take_all(&cluster_pool, M_USER, true);
    unsigned had = object_count;
    CHECK(had >= FILL && had < FILL + 4); /* and what the zone had */
    CHECK(delays); /* not for each allocation at once */
    cluster_pool.sleepers = 1;
    woken = &cluster_pool;
    the_thread_runs();
    cluster_pool.sleepers = 0;
    sleeps = memory_comes_back;
    CHECK_EQUAL(pool_wait(&cluster_pool, true, NO_LIMIT), 0);
    CHECK_EQUAL(pool_counts(&cluster_pool).waits, 1);
    take_all(&cluster_pool, M_USER, true);
    CHECK_EQUAL(object_count, MOST - 2 * (MOST / 8));
    put_all(&cluster_pool, 0);
}

static void another_frees(void)
{
    unsigned before = wakeups;
    CHECK_EQUAL(cluster_pool.sleepers, 1);
    put_all(&cluster_pool, object_count - 1);
    CHECK_EQUAL(wakeups, before + 1);
}

HOST_TEST(a_thread_waits_for_what_others_free)
{
    begin();
    CHECK_EQUAL(pool_wait(&cluster_pool, true, NO_LIMIT), 0); /* there are some */
    take_all(&cluster_pool, M_USER, true);
    CHECK_EQUAL(pool_wait(&cluster_pool, false, NO_LIMIT), -ENOBUFS);
    CHECK_EQUAL(pool_wait(&cluster_pool, true, NO_LIMIT), -ERESTART);
    sleeps = another_frees;
    CHECK_EQUAL(pool_wait(&cluster_pool, true, NO_LIMIT), 0);
    CHECK_EQUAL(cluster_pool.sleepers, 0);
    CHECK((objects[object_count] = pool_get(&cluster_pool, M_USER)));
    memset(objects[object_count], (int)object_count, MCLBYTES);
    object_count++;
    hz = 0;
    CHECK_EQUAL(pool_wait(&cluster_pool, true, NO_LIMIT), -ENOBUFS);
    put_all(&cluster_pool, 0);
}

HOST_TEST(a_pool_that_has_not_begun_denies)
{
    CHECK(!m_get(10, M_PROTOCOL));
    CHECK(!m_cluster());
    CHECK_EQUAL(mbuf_pool.denied + cluster_pool.denied, 2);
}

HOST_TEST(short_frames_are_copied_and_long_ones_are_not)
{
    begin();
    uint8_t *cluster = m_cluster(), *was = cluster;
    for (uint32_t length = 14; length <= 1514; length++) {
        for (uint32_t i = 0; i < length; i++)
            cluster[2 + i] = (uint8_t)(i * length);
        struct mbuf *m = m_received(&cluster, 2, length);
        CHECK(m && m->m_len == length && !m->m_next && !STAILQ_NEXT(m, m_nextpkt));
        CHECK_EQUAL(m_leading(m), 2);
        CHECK_EQUAL(cluster == was, 2 + length <= MLEN);
        CHECK_EQUAL(m->m_data == was + 2, 2 + length > MLEN);
        CHECK(m->m_data >= m_begin(m) && m_trailing(m) == m_size(m) - 2 - length);
        struct mbuf *copy = m_copy(m);
        CHECK(copy && (copy->m_ext != m->m_ext || !m->m_ext) && copy->m_len == length && m_leading(copy) == 2);
        for (uint32_t i = 0; i < length; i++)
            CHECK(m->m_data[i] == (uint8_t)(i * length) && copy->m_data[i] == m->m_data[i]);
        bool moved = m->m_ext || m_enlarge(m, M_FRAME);
        CHECK(moved && m->m_ext && !memcmp(m->m_data, copy->m_data, length));
        m_free(m);
        m_free(copy);
        was = cluster;
    }
    CHECK_EQUAL(m_in_use(), 0);
    take_all(&cluster_pool, M_PROTOCOL, true);
    CHECK(!m_received(&cluster, 2, 1514));
    CHECK(cluster == was); /* it stays in the ring */
    struct mbuf *m = m_received(&cluster, 2, 60);
    CHECK(m && !m_enlarge(m, M_FRAME) && !m->m_ext && !m_copy(m)->m_ext);
    m_cluster_free(cluster);
    put_all(&cluster_pool, 0);
}

HOST_TEST(what_is_done_to_a_free_one_is_noticed)
{
    begin();
    struct mbuf *m = m_get(2000, M_PROTOCOL);
    uint8_t *cluster = m->m_ext;
    m_free(m);
    CHECK_PANICS("is freed twice", m_free(m));
    m->m_len = 1;
    CHECK_PANICS("was written to while it was free", m_get(1, M_PROTOCOL));
    cluster[100] = 1;
    CHECK_PANICS("was written to while it was free", m_cluster());
}

static void check_counts(const struct mbuf_pool *p, uint32_t in_use)
{
    uint32_t free = p->hot_count;
    const struct pool_object *o;
    SLIST_FOREACH(o, &p->free, link)
        free++;
    CHECK_EQUAL(p->in_use, in_use);
    CHECK_EQUAL(p->free_count, free);
    CHECK_EQUAL(p->total, in_use + free);
    CHECK(p->total <= MOST && p->peak >= in_use);
}

HOST_TEST(packets_of_any_kind_in_any_order)
{
    begin();
    static struct mbuf *kept[MOST];
    struct random dice = random_from(3, 3);
    uint32_t count = 0, clusters = 126;
    uint8_t *ring[126];
    for (unsigned i = 0; i < 126; i++) {
        CHECK((ring[i] = m_cluster()));
        the_thread_runs();
    }
    for (unsigned n = 0; n < 100000 * host_times(); n++) {
        if (random_below(&dice, 2) + (n / 5000) % 2) {
            uint32_t bytes = random_below(&dice, random_below(&dice, 5) ? MCLBYTES + 1 : 200);
            struct mbuf *m = count < MOST ? m_get(bytes, random_below(&dice, MBUF_USES)) : 0;
            if (m) {
                CHECK(m_size(m) >= bytes && m_begin(m) == m->m_data);
                memset(m->m_data, (int)count, m_size(m));
                kept[count++] = m;
                clusters += !!m->m_ext;
            }
        } else if (count) {
            struct mbuf *m = kept[--count];
            for (uint32_t i = 0; i < m_size(m); i += 7)
                CHECK_EQUAL(m->m_data[i], (uint8_t)count);
            clusters -= !!m->m_ext;
            m_free(m);
        }
        struct mbuf_pool *p = random_below(&dice, 2) ? &mbuf_pool : &cluster_pool;
        woken = random_below(&dice, 3) || !p->wanted ? 0 : p;
        the_thread_runs();
        if (!random_below(&dice, 500) && !p->wanted)
            a_second_passes(p);
        if (n % 64 == 0) {
            check_counts(&mbuf_pool, count);
            check_counts(&cluster_pool, clusters);
        }
    }
    CHECK(mbuf_pool.denied && cluster_pool.denied);
    while (count)
        m_free(kept[--count]);
    for (unsigned i = 0; i < 126; i++)
        m_cluster_free(ring[i]);
    check_counts(&mbuf_pool, 0);
    check_counts(&cluster_pool, 0);
}
