/*
 * NFS in one program on the host: the client's file system over the server's over ext2, and a wire between the two that
 * loses, repeats and damages messages. A test file that includes this names the sources of nfs.c.
 */
#ifndef TEST_HOST_NFS_WORLD_H
#define TEST_HOST_NFS_WORLD_H

#include "test/host/host.h"

#undef HOST_TEST /* without the tests of ext2.c */
#define HOST_TEST(id) __attribute__((unused)) static void id(void)
#include "ext2.c"
#undef HOST_TEST
#define HOST_TEST(id)                                            \
    static void id(void);                                        \
    __attribute__((constructor)) static void register_##id(void) \
    {                                                            \
        static struct host_test test = {#id, id, 0};             \
        host_register(&test);                                    \
    }                                                            \
    static void id(void)

#include "nfs/call.c"
#include "nfs/server.h"

#define OWN 0x0a000003u

/* Surroundings of both --------------------------------------------------------------------------------------------- */

static struct limit *limit_now;
static struct nfs_mount *client;
static uint32_t ticks;

uint32_t clock_ticks(void)
{
    return ticks++ / 64;
}

uint32_t clock_hz(void)
{
    return 1000;
}

uint64_t cycles64(void)
{
    return 12345;
}

void thread_delay(uint32_t n)
{
    ticks += 64 * n;
    others_run();
}

uint32_t in_pcb_hash(const struct inpcb *inp, uint32_t what)
{
    return inp->faddr ^ what;
}

struct thread *thread_create(thread_fn *fn, void *arg, unsigned priority, int bound, const char *name)
{
    static struct thread one;
    client = arg;
    (void)fn, (void)priority, (void)bound, (void)name;
    return &one;
}

void thread_interrupt(struct thread *t)
{
    (void)t;
}

void thread_join(struct thread *t)
{
    (void)t;
}

void thread_exit(void)
{
    panic("nobody receives here");
}

void thread_wakeup(const void *channel)
{
    (void)channel;
}

struct net_address net_own = {.ip = OWN};

int net_start(void)
{
    return 0;
}

struct datagram *datagram_create(void)
{
    return (struct datagram *)&ticks;
}

void datagram_destroy(struct datagram *d)
{
    (void)d;
}

int datagram_bind(struct datagram *d, uint32_t laddr, uint32_t lport)
{
    (void)d, (void)laddr;
    return lport > NFS_PORT_LAST - 3 ? -EADDRINUSE : 0;
}

int datagram_receive(struct datagram *d, struct transfer *t, struct ends *from, bool waits, bool peek)
{
    (void)d, (void)t, (void)from, (void)waits, (void)peek;
    panic("nobody receives here");
}

/* The wire: a call is answered at once, and the answer waits until its caller sleeps. ------------------------------ */

static unsigned loses, repeats, damages; /* of a hundred messages */
static uint8_t *answers[8];
static uint32_t answer_sizes[8], answer_count;
static void (*sent_call)(const uint8_t *message, uint32_t n); /* or 0: called for each */

static uint8_t *copy_of(const uint8_t *from, uint32_t n)
{
    uint8_t *copy = malloc(n ? n : 1); /* of exactly its length, so that reading beyond is noticed */
    CHECK(copy);
    memcpy(copy, from, n);
    return copy;
}

/* Changes a few bytes of a message, or makes it shorter or longer. */
static uint8_t *damaged_copy(const uint8_t *message, uint32_t *n, uint32_t from)
{
    static const uint32_t words[] = {0,          1,    2,    3,   0x7fffffff, 0x80000000, 0xffffffff,
                                     0xfffffffc, 1024, 1025, 255, 65536,      100,        128};
    uint8_t copy[RPC_MOST];
    memcpy(copy, message, *n);
    for (unsigned i = 1 + random_below(&chance, 3); i && *n; i--) {
        uint32_t at = from + random_below(&chance, *n > from ? *n - from : 1);
        switch (random_below(&chance, 4)) {
        case 0: copy[at % *n] ^= 1u << random_below(&chance, 8); break;
        case 1: copy[at % *n] = (uint8_t)random_next(&chance); break;
        case 2:
            if ((at & ~3u) + 4 <= *n)
                put32(copy + (at & ~3u), words[random_below(&chance, sizeof words / sizeof words[0])]);
            break;
        case 3:
            if (random_below(&chance, 4) == 0)
                *n = from + random_below(&chance, RPC_MOST - from);
            break;
        }
    }
    return copy_of(copy, *n);
}

/* The server's answer to a message, of exactly its length. */
static uint8_t *served(const uint8_t *message, uint32_t *n, uint32_t port)
{
    static char path[NFS_PATH_MOST + 1];
    uint8_t *call = copy_of(message, *n), *reply = malloc(RPC_MOST);
    unsigned held = host_locks_held;
    *n = nfs_server_message(call, *n, OWN, port, reply, path);
    CHECK(*n <= RPC_MOST && *n % 4 == 0);
    CHECK_EQUAL(host_locks_held, held);
    free(call);
    return reply;
}

int datagram_send(struct datagram *d, struct transfer *t, uint32_t faddr, uint32_t fport)
{
    const uint8_t *message = page_pointer(t->at);
    uint32_t n = t->left;
    (void)d;
    CHECK(faddr == 0x0a000002 && n <= RPC_MOST);
    if (sent_call)
        sent_call(message, n);
    if (random_below(&chance, 100) < loses)
        return (int)n;
    for (unsigned i = 1 + (random_below(&chance, 100) < repeats); i && answer_count < 8; i--) {
        uint32_t bytes = n;
        uint8_t *reply = served(message, &bytes, fport);
        if (!bytes || random_below(&chance, 100) < loses) {
            free(reply);
            continue;
        }
        answers[answer_count] =
            random_below(&chance, 100) < damages ? damaged_copy(reply, &bytes, 4) : copy_of(reply, bytes);
        answer_sizes[answer_count++] = bytes;
        free(reply);
    }
    return (int)n;
}

void limit_begin(struct limit *l, uint32_t n, const void *channel, struct simple_lock *lock)
{
    CHECK(n && n <= NFS_TICKS_MOST);
    *l = (struct limit){.channel = channel, .lock = lock};
    limit_now = l;
}

void limit_end(struct limit *l)
{
    CHECK(l == limit_now);
}

/* Advances time until an answer comes, or there is none. */
static void somebody_sleeps(struct simple_lock *interlock)
{
    simple_unlock(interlock);
    unsigned level = sync_hart()->level;
    sync_hart()->level = SPL_NONE;
    if (answer_count) {
        uint8_t *answer = answers[0];
        memmove(answers, answers + 1, --answer_count * sizeof answers[0]);
        uint32_t n = answer_sizes[0];
        memmove(answer_sizes, answer_sizes + 1, answer_count * sizeof answer_sizes[0]);
        nfs_answer(client, answer, n);
        free(answer);
    } else {
        limit_now->over = true;
    }
    sync_hart()->level = level;
    simple_lock(interlock);
}

void thread_sleep(const void *channel, struct simple_lock *interlock)
{
    (void)channel;
    somebody_sleeps(interlock);
}

int limit_sleep(const struct limit *l)
{
    somebody_sleeps(l->lock);
    return 0;
}

#endif
