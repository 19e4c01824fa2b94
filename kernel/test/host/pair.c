/*
 * Pairs of sockets against a model of two queues of bytes: calls of any kind at either end, which the other end
 * answers while one waits; no memory. Sources: net/mbuf.c net/sockbuf.c lock/simple_lock.c net/waiting.c lib/printf.c.
 * Options: ZONE_DEBUG=0 TCPIP_FILE="net/policy/connection.h"
 */
#include "net/pair.c"

#include <stdlib.h>
#include <string.h>

#include "lib/random.h"
#include "test/host/host.h"
#include "test/host/objects.h"
#include "test/host/limits.h"
#include "test/host/pools.h"

#define USER_AT 0x1000u
#define MOST 40000

uint32_t clock_hz(void)
{
    return 1000;
}

static struct random dice;
static unsigned files_open;
static uint8_t user[MOST];

struct file *file_create(const struct file_ops *ops, void *data, uint32_t kind, uint32_t flags)
{
    if (fails_at && !--fails_at)
        return 0;
    struct file *f = calloc(1, sizeof *f);
    CHECK(f);
    *f = (struct file){.ops = ops, .data = data, .references = 1, .kind = kind, .flags = flags};
    files_open++;
    return f;
}

void file_release(struct file *f)
{
    CHECK_EQUAL(host_locks_held, 0);
    f->ops->close(f);
    free(f);
    files_open--;
}

void poll_wakeup(void) {}

void thread_wakeup(const void *channel)
{
    (void)channel;
}

static bool is_users(uint32_t at, uint32_t n)
{
    return at >= USER_AT && at - USER_AT <= sizeof user && n <= sizeof user - (at - USER_AT);
}

int copyout(struct vm_map *map, uint32_t to, const void *from, uint32_t n)
{
    (void)map;
    CHECK_EQUAL(host_locks_held, 0); /* a page fault sleeps */
    if (!is_users(to, n))
        return -EFAULT;
    memcpy(user + (to - USER_AT), from, n);
    return 0;
}

static void (*copies)(void); /* what the other end does while bytes are copied in */

int transfer_in(struct transfer *t, void *to, uint32_t n)
{
    CHECK_EQUAL(host_locks_held, 0);
    if (copies)
        copies();
    if (!is_users(t->at, n))
        return -EFAULT;
    memcpy(to, user + (t->at - USER_AT), n);
    t->at += n;
    t->left -= n;
    return 0;
}

int transfer_out(struct transfer *t, const void *from, uint32_t n)
{
    int error = copyout(0, t->at, from, n);
    t->at += n;
    t->left -= n;
    return error;
}

static void (*sleeps)(void); /* what the other end does while a thread waits; 0: a signal comes */

int thread_sleep_interruptibly(const void *channel, struct simple_lock *interlock)
{
    (void)channel;
    if (!sleeps)
        return 1;
    simple_unlock(interlock);
    CHECK_EQUAL(host_locks_held, 0);
    unsigned level = sync_hart()->level;
    sync_hart()->level = SPL_NONE;
    sleeps();
    sync_hart()->level = level;
    simple_lock(interlock);
    return 0;
}

/* An end in the model: the numbers of bytes that were sent into it and read from it. */
static struct kept {
    struct file *file;
    uint32_t sent, taken;
    bool ended, reset;
} kept[2];

static uint8_t byte_of(unsigned end, uint32_t at)
{
    return (uint8_t)((at * 2654435761u >> 16) + end * 77);
}

static void make_pair(void)
{
    struct file *f[2];
    CHECK_EQUAL(pair_create(f, 0), 0);
    for (unsigned i = 0; i < 2; i++)
        kept[i] = (struct kept){.file = f[i]};
}

static void close_end(unsigned i)
{
    struct kept *k = &kept[i], *other = &kept[!i];
    other->reset |= k->sent != k->taken;
    k->ended = other->ended = true;
    file_release(k->file);
    k->file = 0;
}

static void all_has_gone(void)
{
    CHECK_EQUAL(objects, 0);
    CHECK_EQUAL(files_open, 0);
}

static void check_sends(unsigned i, uint32_t n)
{
    struct kept *to = &kept[!i];
    uint32_t room = SO_BUFFER - (to->sent - to->taken), at = random_below(&dice, 20) ? USER_AT : 4;
    for (uint32_t b = 0; b < n; b++)
        user[b] = byte_of(!i, to->sent + b);
    uint32_t fits = n < room ? n : room, whole = fits / MCLBYTES, more = fits % MCLBYTES;
    uint32_t pieces = 2 * whole + (more ? 1 + (more > MLEN) : 0); /* allocations */
    fails_at =
        n && room && !to->ended && at == USER_AT && !random_below(&dice, 10) ? 1 + random_below(&dice, pieces) : 0;
    uint32_t goes = fails_at ? (fails_at - 1) / 2 * MCLBYTES : fits;
    int error = !n ? 0 : to->ended ? -EPIPE : !room ? -EAGAIN : at == 4 ? -EFAULT : fails_at && !goes ? -ENOBUFS : 0;
    int done = pair_send(kept[i].file->data, &(struct transfer){.at = at, .left = n}, false);
    CHECK_EQUAL(done, error ? error : (int)goes);
    CHECK(!fails_at);
    to->sent += done > 0 ? (uint32_t)done : 0;
}

static void check_receives(unsigned i, uint32_t n)
{
    struct kept *k = &kept[i];
    uint32_t is = k->sent - k->taken, some = n < is ? n : is;
    bool peek = !random_below(&dice, 3), all = !random_below(&dice, 3), bad = !random_below(&dice, 20);
    int error = !n || is ? 0 : k->reset ? -ECONNRESET : k->ended ? 0 : -EAGAIN;
    if (bad && n && is)
        error = -EFAULT;
    struct transfer t = {.at = bad ? 4 : USER_AT, .left = n};
    CHECK_EQUAL(pair_receive(k->file->data, &t, false, peek, all), error ? error : (int)some);
    k->reset &= error != -ECONNRESET;
    if (error)
        return;
    for (uint32_t b = 0; b < some; b++)
        CHECK_EQUAL(user[b], byte_of(i, k->taken + b));
    k->taken += peek ? 0 : some;
}

static void check_poll(unsigned i)
{
    const struct kept *k = &kept[i], *to = &kept[!i];
    int should = (k->sent != k->taken || k->ended || k->reset ? USER_POLLIN : 0) |
                 (to->ended || to->sent - to->taken < SO_BUFFER ? USER_POLLOUT : 0) |
                 (k->ended && to->ended ? USER_POLLHUP : 0) | (k->reset ? USER_POLLERR : 0);
    CHECK_EQUAL(pair_ops.poll(k->file, USER_POLLIN | USER_POLLOUT), should);
    CHECK_EQUAL(pair_ops.ioctl(k->file, 0, USER_FIONREAD, USER_AT), 0);
    CHECK_EQUAL(*(const int *)user, (int)(k->sent - k->taken));
}

HOST_TEST(calls_at_both_ends_give_what_two_queues_give)
{
    dice = random_from(1, 1);
    unsigned resets = 0, full = 0;
    for (unsigned n = 0; n < 1000 * host_times(); n++) {
        make_pair();
        for (unsigned step = random_below(&dice, 60); step; step--) {
            unsigned i = random_below(&dice, 2);
            if (!kept[i].file)
                continue;
            uint32_t bytes = random_below(&dice, random_below(&dice, 2) ? 100 : random_below(&dice, 9) ? 6000 : MOST);
            switch (random_below(&dice, 20)) {
            case 0: close_end(i); break;
            case 1: {
                uint32_t how = random_below(&dice, 4);
                CHECK_EQUAL(pair_shut(kept[i].file->data, how & 1, how & 2), 0);
                kept[i].ended |= how & 1;
                kept[!i].ended |= how & 2;
                break;
            }
            case 2: check_poll(i); break;
            default: random_below(&dice, 2) ? check_sends(i, bytes) : check_receives(i, bytes);
            }
            full += kept[i].sent - kept[i].taken == SO_BUFFER;
            resets += kept[i].reset;
        }
        for (unsigned i = 0; i < 2; i++)
            if (kept[i].file)
                close_end(i);
        all_has_gone();
    }
    CHECK(resets && full);
}

static uint32_t rest; /* bytes that the other end still sends, or reads */

static void other_sends(void)
{
    uint32_t n = rest < 700 ? rest : 700;
    CHECK(rest);
    for (uint32_t b = 0; b < n; b++)
        user[MOST / 2 + b] = byte_of(0, kept[0].sent + b);
    CHECK_EQUAL(pair_send(kept[1].file->data, &(struct transfer){.at = USER_AT + MOST / 2, .left = n}, false), (int)n);
    kept[0].sent += n;
    rest -= n;
    if (!rest)
        close_end(1);
}

static void other_takes(void)
{
    CHECK_EQUAL(pair_receive(kept[1].file->data, &(struct transfer){.at = USER_AT + MOST / 2, .left = 1000}, false,
                             false, false),
                1000);
    for (uint32_t b = 0; b < 1000; b++)
        CHECK_EQUAL(user[MOST / 2 + b], (uint8_t)(kept[1].taken + b));
    kept[1].taken += 1000;
}

HOST_TEST(who_waits_gets_what_the_other_end_does)
{
    make_pair();
    struct pair_end *e = kept[0].file->data;
    sleeps = other_sends;
    rest = 20000;
    CHECK_EQUAL(pair_receive(e, &(struct transfer){.at = USER_AT, .left = 500}, true, false, false), 500);
    CHECK_EQUAL(pair_receive(e, &(struct transfer){.at = USER_AT, .left = 2000}, true, true, true), 2000);
    CHECK_EQUAL(pair_receive(e, &(struct transfer){.at = USER_AT, .left = 15000}, true, false, true), 15000);
    for (uint32_t b = 0; b < 15000; b++)
        CHECK_EQUAL(user[b], byte_of(0, 500 + b));
    CHECK_EQUAL(pair_receive(e, &(struct transfer){.at = USER_AT, .left = 15000}, true, false, true), 4500);
    CHECK_EQUAL(pair_receive(e, &(struct transfer){.at = USER_AT, .left = 15000}, true, false, true), 0);
    close_end(0);
    make_pair();
    e = kept[0].file->data;
    sleeps = other_takes;
    for (uint32_t b = 0; b < MOST / 2; b++)
        user[b] = (uint8_t)b;
    CHECK_EQUAL(pair_send(e, &(struct transfer){.at = USER_AT, .left = MOST / 2}, true), MOST / 2);
    kept[1].sent = MOST / 2;
    while (kept[1].sent - kept[1].taken < SO_BUFFER)
        kept[1].sent += (uint32_t)pair_send(e, &(struct transfer){.at = USER_AT, .left = 1}, false);
    memset(user, 0, MOST / 2);
    CHECK(pair_send(e, &(struct transfer){.at = USER_AT, .left = 100}, false) == -EAGAIN);
    sleeps = 0;
    CHECK_EQUAL(pair_send(e, &(struct transfer){.at = USER_AT, .left = 100}, true), -ERESTART);
    file_release(kept[1].file);
    CHECK_EQUAL(pair_send(e, &(struct transfer){.at = USER_AT, .left = 100}, true), -EPIPE);
    CHECK_EQUAL(pair_receive(e, &(struct transfer){.at = USER_AT, .left = 100}, true, false, false), -ECONNRESET);
    CHECK_EQUAL(pair_receive(e, &(struct transfer){.at = USER_AT, .left = 100}, true, false, false), 0);
    file_release(kept[0].file);
    all_has_gone();
}

/* Writes of 769 bytes and more take a cluster each, as a copy would cost more than the room; others share them. */
HOST_TEST(long_writes_are_not_copied_again)
{
    for (uint32_t size = 768; size <= 1000; size += 232 / 8) {
        make_pair();
        unsigned had = objects;
        for (uint32_t n = 0; n < 8; n++)
            CHECK_EQUAL(pair_send(kept[0].file->data, &(struct transfer){.at = USER_AT, .left = size}, false), size);
        CHECK_EQUAL(objects - had, size <= 768 ? 8 : 16);
        close_end(0);
        close_end(1);
        all_has_gone();
    }
}

/* Writes of any one size: no more than an mbuf, or an mbuf and a cluster, in two that are half full. */
HOST_TEST(short_writes_hold_little_memory)
{
    for (uint32_t size = 1; size <= MLEN; size++) {
        make_pair();
        unsigned had = objects;
        for (uint32_t n = 0; n < SO_BUFFER / size; n++)
            CHECK_EQUAL(pair_send(kept[0].file->data, &(struct transfer){.at = USER_AT, .left = size}, false), size);
        CHECK(objects - had <= 3 * (SO_BUFFER / MCLBYTES + 1));
        close_end(0);
        close_end(1);
        all_has_gone();
    }
}

static int waits_are;
static unsigned memory_waits;

static int waits_for_memory(void)
{
    memory_waits++;
    return waits_are;
}

/* A writer waits for memory while it holds none; else it first sends what it has. */
HOST_TEST(a_writer_waits_for_memory)
{
    make_pair();
    struct pair_end *e = kept[0].file->data;
    pool_waits = waits_for_memory;
    for (fails_at = 1; fails_at < 7;) {
        unsigned at = fails_at;
        CHECK_EQUAL(pair_send(e, &(struct transfer){.at = USER_AT, .left = 3 * MCLBYTES}, true), 3 * MCLBYTES);
        CHECK(!fails_at);
        CHECK_EQUAL(memory_waits, at == 1 || at == 2 ? 2 : 0); /* for either pool */
        memory_waits = 0;
        CHECK_EQUAL(
            pair_receive(kept[1].file->data, &(struct transfer){.at = USER_AT, .left = MOST}, false, false, false),
            3 * MCLBYTES);
        fails_at = at + 1;
    }
    waits_are = -ERESTART;
    for (fails_at = 1; fails_at < 3; fails_at++) {
        unsigned at = fails_at;
        CHECK_EQUAL(pair_send(e, &(struct transfer){.at = USER_AT, .left = 3 * MCLBYTES}, true), -ERESTART);
        fails_at = at;
        CHECK_EQUAL(pair_send(e, &(struct transfer){.at = USER_AT, .left = 3 * MCLBYTES}, false), -ENOBUFS);
        fails_at = at;
    }
    fails_at = 0;
    CHECK_EQUAL(memory_waits, 2);
    close_end(0);
    close_end(1);
    all_has_gone();
}

static void other_ends(void)
{
    CHECK_EQUAL(pair_shut(kept[1].file->data, true, false), 0);
}

HOST_TEST(what_is_copied_while_the_other_end_ends_goes_nowhere)
{
    make_pair();
    copies = other_ends;
    struct transfer t = {.at = USER_AT, .left = 5000};
    CHECK_EQUAL(pair_send(kept[0].file->data, &t, true), -EPIPE);
    copies = 0;
    close_end(0);
    close_end(1);
    all_has_gone();
}

HOST_TEST(a_pair_is_made_whole_or_not_at_all)
{
    for (unsigned which = 1; which < 4; which++) {
        struct file *f[2];
        fails_at = which;
        CHECK_EQUAL(pair_create(f, 0), -ENOMEM);
        CHECK(!fails_at);
        all_has_gone();
    }
    make_pair();
    struct pair_end *e = kept[0].file->data;
    int value = 0;
    CHECK_EQUAL(pair_option(e, USER_SOL_SOCKET, USER_SO_TYPE, &value, false), 0);
    CHECK_EQUAL(value, USER_SOCK_STREAM);
    CHECK_EQUAL(pair_option(e, USER_SOL_SOCKET, USER_SO_RCVBUF, &value, false), 0);
    CHECK_EQUAL(value, SO_BUFFER);
    CHECK_EQUAL(pair_option(e, 6, 1, &value, false), -EOPNOTSUPP);
    CHECK_EQUAL(pair_option(e, USER_SOL_SOCKET, USER_SO_TYPE, &value, true), -ENOPROTOOPT);
    CHECK_EQUAL(pair_send(e, &(struct transfer){.at = USER_AT, .left = 10}, false), 10);
    kept[1].sent = 10;
    close_end(1);
    CHECK_EQUAL(pair_option(e, USER_SOL_SOCKET, USER_SO_ERROR, &value, false), 0);
    CHECK_EQUAL(value, ECONNRESET);
    CHECK_EQUAL(pair_receive(e, &(struct transfer){.at = USER_AT, .left = 10}, false, false, false), 0);
    close_end(0);
    all_has_gone();
}
