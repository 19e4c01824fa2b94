/*
 * Shared by TCP's tests on the host: system calls, the threads and frames, in simulated time (`now`, in
 * milliseconds).
 */
#ifndef TEST_HOST_TCP_WORLD_H
#define TEST_HOST_TCP_WORLD_H

#include "net/socket_calls.c"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/random.h"
#include "lock/event.h"
#include "mem/zone.h"
#include "net/route.h"
#include "sched/designated.h"
#include "sched/master.h"
#include "sched/sched.h"
#include "test/host/host.h"
#include "test/host/limits.h"
#include "test/host/peer.h"
#include "test/host/pools.h"

#define HZ 1000
#define MS_CYCLES (CLOCK_HZ / 1000)
#define FAST_MS 200
#define SLOW_MS 500
#define MSS 1460
#define FILES 64
#define LOGGED 4096

#define F TH_FIN
#define S TH_SYN
#define R TH_RST
#define P TH_PUSH
#define A TH_ACK

const bool if_ether_in_threads = true;
char bootargs[64] = "net.databases=3";
static uint32_t now; /* milliseconds */
static unsigned master;
static uint64_t cycles_base;
static uint8_t user[65536]; /* memory of user mode, from address 0x1000 on */
#define USER_AT 0x1000u

/* The kernel around TCP -------------------------------------------------------------------------------------------- */

int if_ioctl(struct vm_map *map, uint32_t request, uint32_t at)
{
    (void)map, (void)request, (void)at;
    return -ENOTTY;
}

#ifdef NET_HANDED_H
#define OF_A_FRAME 2 /* allocations: a packet, and the request that passes it on */
#else
#define OF_A_FRAME 1
#endif

static unsigned objects; /* of all zones */
static uint64_t allocations; /* attempts */
static uint64_t fail_from, fail_to; /* allocations that fail */

void *zone_alloc_slow(struct zone *z, struct zone_cache *c)
{
    (void)c;
    uint64_t number = allocations++;
    if (number >= fail_from && number < fail_to)
        return 0;
    objects++;
    z->out++;
    void *object = aligned_alloc(64, (z->size + 63) & ~63u);
    CHECK(object);
    memset(object, 0xdb, z->size);
    return object;
}

void zone_free_slow(struct zone *z, struct zone_cache *c, void *object)
{
    (void)c;
    CHECK(objects && z->out);
    objects--;
    z->out--;
    free(object);
}

struct zone_counts zone_counts(const struct zone *z)
{
    return (struct zone_counts){.in_use = z->out};
}

static void (*clock_is_read)(void); /* what another hart does meanwhile */

uint64_t cycles64(void)
{
    void (*other)(void) = clock_is_read;
    clock_is_read = 0;
    if (other)
        other();
    return cycles_base + (uint64_t)now * MS_CYCLES;
}

uint32_t clock_hz(void)
{
    return HZ;
}

static struct hart *master_hart; /* that has it, if there are others */

void unix_master(void)
{
    while (host_others_run && master && master_hart != curhart)
        host_others_run();
    master_hart = curhart;
    master++;
}

void unix_release(void)
{
    CHECK(master);
    master--;
}

/* Designated harts: `work_off` works off their packets, one of each queue in turn. */
static struct designated *designated[8];
static unsigned designated_count, designated_turn;
static bool on_designated;

void designated_start(struct designated *d, unsigned hart, unsigned priority)
{
    CHECK(hart < hart_count);
    CHECK_EQUAL(priority, PRI_DESIGNATED);
    CHECK(designated_count < 8);
    designated[designated_count++] = d;
}

void krp_queue(struct designated *d, struct krp *krp)
{
    CHECK(designated_count);
    krp->next = 0;
    if (d->first)
        d->last->next = krp;
    else
        d->first = krp;
    d->last = krp;
}

/* Whether there was a packet. */
static bool work_off(void)
{
    CHECK(!on_designated);
    for (unsigned i = 0; i < designated_count; i++) {
        struct designated *d = designated[designated_turn++ % designated_count];
        struct krp *krp = d->first;
        if (!krp)
            continue;
        d->first = krp->next;
        on_designated = true;
        krp->action(krp);
        on_designated = false;
        return true;
    }
    return false;
}

void event_post(struct event *e)
{
    e->posted = true;
}

void event_wait(struct event *e)
{
    CHECK(!on_designated); /* it would wait for itself */
    CHECK_EQUAL(sync_hart()->level, SPL_NONE);
    while (!e->posted)
        if (host_others_run)
            host_others_run();
        else
            CHECK(work_off());
}

void event_destroy(struct event *e)
{
    simple_lock_destroy(&e->lock);
}

static unsigned broken_pipes;

static void pipe_is_broken(void)
{
    CHECK_EQUAL(host_locks_held, 0);
    broken_pipes++;
}

void (*file_broken_pipe)(void) = pipe_is_broken;

static unsigned wakeups;

void poll_wakeup(void)
{
    wakeups++;
}

void thread_sleep(const void *channel, struct simple_lock *interlock)
{
    (void)channel, (void)interlock;
    CHECK(false);
}

void thread_wakeup(const void *channel)
{
    (void)channel;
}

static void (*sleeps)(void); /* what happens while a thread waits; it ends the wait */

int thread_sleep_interruptibly(const void *channel, struct simple_lock *interlock)
{
    (void)channel;
    CHECK(sleeps && !on_designated);
    CHECK_EQUAL(host_locks_held, 0);
    simple_unlock(interlock);
    unsigned level = sync_hart()->level;
    sync_hart()->level = SPL_NONE;
    unsigned was = master;
    master = 0;
    sleeps();
    master = was;
    sync_hart()->level = level;
    simple_lock(interlock);
    return 0;
}

/* `advance` runs a round of the two threads: each begins anew, up to its second delay. */
static struct {
    thread_fn *fn;
    void *arg;
} rounds[2];
static unsigned threads, delays;
static jmp_buf round_ends;

struct thread *thread_create(thread_fn *fn, void *arg, unsigned priority, int bound, const char *name)
{
    (void)priority, (void)bound;
    if (!strcmp(name, "loop-back")) { /* the loop-back's, which is unused here */
        return (struct thread *)&rounds;
    }
    CHECK(threads < 2);
    rounds[threads].fn = fn;
    rounds[threads++].arg = arg;
    return (struct thread *)&rounds[threads - 1];
}

static void (*delay_passes)(uint32_t ticks); /* instead, if set */

void thread_delay(uint32_t ticks)
{
    if (delay_passes) {
        delay_passes(ticks);
        return;
    }
    CHECK(ticks == HZ * FAST_MS / 1000 || ticks == HZ * SLOW_MS / 1000);
    CHECK_EQUAL(host_locks_held, 0);
    CHECK(!master);
    if (delays++)
        longjmp(round_ends, 1);
}

static bool in_round;

static void go_round(unsigned thread)
{
    if (in_round)
        return;
    in_round = true;
    delays = 0;
    if (!setjmp(round_ends))
        rounds[thread].fn(rounds[thread].arg);
    in_round = false;
}

void if_ether_start(void)
{
    inet_start();
    arp_init();
}

int copyin(struct vm_map *map, void *to, uint32_t from, uint32_t n)
{
    (void)map;
    if (from < USER_AT || from - USER_AT > sizeof user || n > sizeof user - (from - USER_AT))
        return -EFAULT;
    memcpy(to, user + (from - USER_AT), n);
    return 0;
}

int copyout(struct vm_map *map, uint32_t to, const void *from, uint32_t n)
{
    (void)map;
    if (to < USER_AT || to - USER_AT > sizeof user || n > sizeof user - (to - USER_AT))
        return -EFAULT;
    memcpy(user + (to - USER_AT), from, n);
    return 0;
}

int transfer_in(struct transfer *t, void *to, uint32_t n)
{
    CHECK_EQUAL(host_locks_held, 0); /* a page fault sleeps */
    int error = copyin(t->map, to, t->at, n);
    t->at += n;
    t->left -= n;
    return error;
}

int transfer_out(struct transfer *t, const void *from, uint32_t n)
{
    CHECK_EQUAL(host_locks_held, 0);
    int error = copyout(t->map, t->at, from, n);
    t->at += n;
    t->left -= n;
    return error;
}

static unsigned depth; /* of other threads' work between a thread's instructions */
static struct file *files[FILES];
static unsigned files_most = FILES;
static bool no_files;
static unsigned open_files;

struct file *file_create(const struct file_ops *ops, void *data, uint32_t kind, uint32_t flags)
{
    if (no_files)
        return 0;
    struct file *f = calloc(1, sizeof *f);
    CHECK(f);
    *f = (struct file){.ops = ops, .data = data, .references = 1, .kind = kind, .flags = flags};
    open_files++;
    return f;
}

void file_release(struct file *f)
{
    CHECK(f->references);
    if (--f->references)
        return;
    CHECK_EQUAL(host_locks_held, 0);
    f->ops->close(f);
    free(f);
    open_files--;
}

struct file *descriptor_file(struct descriptors *d, uint32_t fd)
{
    (void)d;
    struct file *f = fd < FILES ? files[fd] : 0;
    if (f)
        f->references++;
    return f;
}

int descriptor_open(struct descriptors *d, struct file *f, uint32_t from, bool close_on_exec)
{
    (void)d, (void)close_on_exec;
    for (unsigned fd = from; fd < files_most; fd++)
        if (!files[fd]) {
            files[fd] = f;
            return (int)fd;
        }
    return -EMFILE;
}

int descriptor_open_both(struct descriptors *d, struct vm_map *map, uint32_t to, struct file *f[2], bool close_on_exec)
{
    (void)d, (void)map, (void)to, (void)f, (void)close_on_exec;
    CHECK(false); /* pair.c of this folder tests pairs */
    return -EMFILE;
}

int descriptor_close(struct descriptors *d, uint32_t fd)
{
    (void)d;
    struct file *f = fd < FILES ? files[fd] : 0;
    if (!f)
        return -EBADF;
    files[fd] = 0;
    file_release(f);
    return 0;
}

static struct descriptors *no_descriptors(struct process *p)
{
    (void)p;
    return 0;
}

struct descriptors *(*descriptors_of)(struct process *p) = no_descriptors;

/* System calls, from this file's own memory. A call has released all that it took. */
static int checked(int result)
{
    if (depth)
        return result;
    CHECK_EQUAL(sync_hart()->level, SPL_NONE);
    while (work_off())
        ;
    CHECK_EQUAL(host_locks_held, 0);
    CHECK_EQUAL(sync_hart()->level, SPL_NONE);
    CHECK(!master);
    return result;
}

#define CALL(fn, ...) checked(fn(0, 0, (const uint32_t[6]){__VA_ARGS__}))

static uint32_t address(uint32_t ip, uint32_t port)
{
    struct user_sockaddr_in to = address_of(ip, port);
    memcpy(user, &to, sizeof to);
    return USER_AT;
}

static int k_socket(void)
{
    return CALL(sys_socket, USER_AF_INET, USER_SOCK_STREAM | USER_SOCK_NONBLOCK, 0);
}

static int k_connect(int fd, uint32_t port)
{
    return CALL(sys_connect, (uint32_t)fd, address(PEER_IP, port), sizeof(struct user_sockaddr_in));
}

static int k_accept(int fd)
{
    int of = CALL(sys_accept, (uint32_t)fd, 0, 0);
    if (of >= 0 && files[of])
        files[of]->flags |= O_NONBLOCK;
    return of;
}

static int k_close(int fd)
{
    return checked(descriptor_close(0, (uint32_t)fd));
}

static int k_shutdown(int fd, uint32_t how)
{
    return CALL(sys_shutdown, (uint32_t)fd, how);
}

/* The bytes at user + USER_DATA. */
#define USER_DATA 256u
#define USER_MOST 32768u

static int k_write(int fd, uint32_t n)
{
    struct transfer t = {.at = USER_AT + USER_DATA, .left = n};
    struct file *f = descriptor_file(0, (uint32_t)fd);
    if (!f)
        return -EBADF;
    int done = socket_ops.write(f, &t);
    file_release(f);
    return checked(done);
}

static int k_read(int fd, uint32_t n)
{
    struct transfer t = {.at = USER_AT + USER_DATA, .left = n};
    struct file *f = descriptor_file(0, (uint32_t)fd);
    if (!f)
        return -EBADF;
    int done = socket_ops.read(f, &t);
    file_release(f);
    return checked(done);
}

static int k_poll(int fd)
{
    struct file *f = descriptor_file(0, (uint32_t)fd);
    int now_so = socket_ops.poll(f, USER_POLLIN | USER_POLLOUT | USER_POLLPRI);
    file_release(f);
    return checked(now_so);
}

/* Segments --------------------------------------------------------------------------------------------------------- */

struct seg {
    uint32_t at; /* milliseconds */
    uint32_t seq, ack, flags, window, mss, length;
    uint16_t kernel, peer; /* ports */
    uint16_t urgent;
    uint8_t option_bytes, option[TCP_OPTIONS_MOST]; /* of one to the kernel, instead of `mss` */
    uint8_t data[MSS];
};

static struct seg logged[LOGGED]; /* what the kernel has sent and no test has read */
static unsigned log_first, log_end;
static void (*on_sent)(const struct seg *s); /* instead of the log */

static uint32_t sum_of(const uint8_t *p, uint32_t length, uint32_t sum)
{
    for (uint32_t i = 0; i < length; i++)
        sum += i % 2 ? p[i] : p[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

static uint32_t tcp_sum(const uint8_t *ip, const uint8_t *tcp, uint32_t length)
{
    return sum_of(tcp, length, sum_of(ip + 12, 8, IPPROTO_TCP + length));
}

/* Options that a segment may have: known ones, of the right length, once each, and nothing behind them. */
static void check_options(const struct seg *s)
{
    static const uint8_t lengths[] = {[2] = 4, [3] = 3, [4] = 2, [8] = 10};
    unsigned had = 0;
    for (uint32_t at = 0; at < s->option_bytes;) {
        uint32_t kind = s->option[at], length = kind == 1 ? 1 : s->option[at + 1];
        CHECK(kind == 1 || kind == 5 || (kind < sizeof lengths && length == lengths[kind]));
        CHECK(kind != 5 || (length >= 10 && length % 8 == 2));
        CHECK(kind == 1 || !(had & 1u << kind));
        CHECK(kind == 1 || kind == 8 || !(s->flags & S) == (kind == 5));
        had |= 1u << kind;
        at += length;
        CHECK(at <= s->option_bytes);
    }
    CHECK(!(s->flags & S) || had & 1u << 2);
}

/* Each sent segment is one that TCP may send, whatever it answers. */
static void transmitted(struct mbuf *m)
{
    const uint8_t *ip = m->m_data + ETHER_HEADER, *tcp = ip + IP_HEADER;
    if (get16(m->m_data + 12) == ETHERTYPE_IP) {
        uint32_t length = get16(ip + 2) - IP_HEADER, header = (tcp[12] >> 4) * 4u;
        CHECK_EQUAL(m->m_len, ETHER_HEADER + IP_HEADER + length);
        CHECK_EQUAL(ip[0], 0x45);
        CHECK_EQUAL(ip[9], IPPROTO_TCP);
        CHECK_EQUAL(sum_of(ip, IP_HEADER, 0), 0xffff);
        CHECK_EQUAL(tcp_sum(ip, tcp, length), 0xffff);
        CHECK_EQUAL(get32(ip + 12), OUR_IP);
        CHECK_EQUAL(get32(ip + 16), PEER_IP);
        struct seg s = {.at = now,
                        .kernel = (uint16_t)get16(tcp),
                        .peer = (uint16_t)get16(tcp + 2),
                        .seq = get32(tcp + 4),
                        .ack = get32(tcp + 8),
                        .flags = tcp[13],
                        .window = get16(tcp + 14),
                        .urgent = (uint16_t)get16(tcp + 18),
                        .option_bytes = (uint8_t)(header - 20),
                        .length = length - header};
        CHECK(header >= 20 && header <= length);
        memcpy(s.option, tcp + 20, s.option_bytes);
        check_options(&s);
        if (s.flags & S) {
            CHECK_EQUAL(get16(tcp + 20), 0x0204);
            s.mss = get16(tcp + 22);
        }
        CHECK(s.flags & A || s.flags & (S | R));
        CHECK(!!(s.flags & S) + !!(s.flags & R) + !!(s.flags & F) <= 1);
        CHECK(!(s.flags & (S | R)) || !s.length);
        CHECK(s.length <= MSS);
        memcpy(s.data, tcp + header, s.length);
        if (on_sent) {
            on_sent(&s);
        } else {
            CHECK(log_end - log_first < LOGGED);
            logged[log_end++ % LOGGED] = s;
        }
    }
    bool asks = get16(m->m_data + 12) == ETHERTYPE_ARP;
    m_free(m);
    if (asks) /* twenty minutes later, or when the clock is set back */
        peer_says_its_address();
}

static uint8_t frame[1600] __attribute__((aligned(8)));
static uint8_t *const frame_ip = frame + ETHER_HEADER, *const frame_tcp = frame + ETHER_HEADER + IP_HEADER;

static void make_sums(uint32_t length)
{
    put16(frame_ip + 10, 0);
    put16(frame_ip + 10, ~sum_of(frame_ip, IP_HEADER, 0) & 0xffff);
    put16(frame_tcp + 16, 0);
    put16(frame_tcp + 16, ~tcp_sum(frame_ip, frame_tcp, length) & 0xffff);
}

/* Makes the frame for a segment; returns its length. */
static uint32_t make_frame(const struct seg *s)
{
    static const uint8_t us[6] = {2, 'I', 'L', 'K', 0, 2}, peer[6] = {2, 0, 0, 0, 0, 1};
    uint32_t header = s->option_bytes ? 20u + s->option_bytes : s->mss ? 24 : 20, length = header + s->length;
    memcpy(frame, us, 6);
    memcpy(frame + 6, peer, 6);
    put16(frame + 12, ETHERTYPE_IP);
    memset(frame_ip, 0, IP_HEADER + header);
    frame_ip[0] = 0x45;
    put16(frame_ip + 2, IP_HEADER + length);
    frame_ip[8] = 64;
    frame_ip[9] = IPPROTO_TCP;
    put32(frame_ip + 12, PEER_IP);
    put32(frame_ip + 16, OUR_IP);
    put16(frame_tcp, s->peer);
    put16(frame_tcp + 2, s->kernel);
    put32(frame_tcp + 4, s->seq);
    put32(frame_tcp + 8, s->ack);
    frame_tcp[12] = (uint8_t)(header / 4 << 4);
    frame_tcp[13] = (uint8_t)s->flags;
    put16(frame_tcp + 14, s->window);
    put16(frame_tcp + 18, s->urgent);
    memcpy(frame_tcp + 20, s->option, s->option_bytes);
    if (s->mss && !s->option_bytes) {
        put16(frame_tcp + 20, 0x0204);
        put16(frame_tcp + 22, s->mss);
    }
    memcpy(frame_tcp + header, s->data, s->length);
    make_sums(length);
    return ETHER_HEADER + IP_HEADER + length;
}

/* What a thread does with a frame (receive/). */
static void input_frame(uint32_t length)
{
    uint32_t padded = length < 60 ? 60 : length;
    struct mbuf *m = m_get(2 + padded, M_FRAME);
    if (!m)
        return; /* lost */
    m->m_data += 2;
    m->m_len = padded;
    memset(m->m_data, 0, m->m_len);
    memcpy(m->m_data, frame, length);
    m_adj(m, ETHER_HEADER);
    if (!inet_receive(m)) {
        inet_enter();
        ip_input(m);
        inet_leave();
    }
    checked(0);
}

static void input(const struct seg *s)
{
    input_frame(make_frame(s));
}

static void advance(uint32_t ms)
{
    for (uint32_t end = now + ms; now != end;) {
        uint32_t next = end, fast = now + FAST_MS - now % FAST_MS, slow = now + SLOW_MS - now % SLOW_MS;
        next = (int32_t)(next - fast) > 0 ? fast : next;
        next = (int32_t)(next - slow) > 0 ? slow : next;
        now = next;
        if (threads && now % FAST_MS == 0)
            go_round(0);
        if (threads && now % SLOW_MS == 0)
            go_round(1);
        checked(0);
    }
}

/*
 * A message of a router or the peer about the kernel's segment `s`: an ICMP message whose fourth 16-bit word is `word`,
 * and that quotes so many bytes.
 */
static void input_icmp(uint32_t type, uint32_t code, uint32_t word, const struct seg *s, uint32_t quoted)
{
    uint8_t *icmp = frame_tcp, *ip = icmp + 8;
    uint32_t length = 8 + quoted;
    make_frame(&(struct seg){.kernel = s->kernel, .peer = s->peer, .flags = A});
    memset(icmp, 0, 8 + IP_HEADER + 8);
    icmp[0] = (uint8_t)type;
    icmp[1] = (uint8_t)code;
    put16(icmp + 6, word);
    ip[0] = 0x45;
    put16(ip + 2, IP_HEADER + TCP_HEADER + s->length);
    ip[9] = IPPROTO_TCP;
    put32(ip + 12, OUR_IP);
    put32(ip + 16, PEER_IP);
    put16(ip + IP_HEADER, s->kernel);
    put16(ip + IP_HEADER + 2, s->peer);
    put32(ip + IP_HEADER + 4, s->seq);
    put16(icmp + 2, ~sum_of(icmp, length, 0) & 0xffff);
    put16(frame_ip + 2, IP_HEADER + length);
    frame_ip[9] = IPPROTO_ICMP;
    put16(frame_ip + 10, 0);
    put16(frame_ip + 10, ~sum_of(frame_ip, IP_HEADER, 0) & 0xffff);
    input_frame(ETHER_HEADER + IP_HEADER + length);
}

static void begin(void)
{
    net_own = host_address;
    if_transmit = transmitted;
    now = 1000;
    CHECK_EQUAL(start_network(), 0);
    peer_says_its_address();
}

static void all_has_gone(void)
{
    CHECK_EQUAL(open_files, 0);
    CHECK_EQUAL(objects, 0);
}
#endif
