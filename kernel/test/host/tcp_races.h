/*
 * Races of TCP's contexts, for each network kernel (included by tcp.c): threads that share a table of sockets, the
 * timers' threads, and what receives frames or is a designated hart, each a fiber on a hart of its own. By the seed
 * they take turns before locks and sections, and while one waits. The peer sends data, ends and resets. Each seed is
 * a process, RACE_SEEDS="FIRST LAST" others than the usual ones.
 *
 * Judged: whatever the peer sends on a connection is acknowledged or reset, also when it is just ending, and its SYN
 * is answered; nothing but resets comes after a reset; only what was sent arrives; a connection that has ended does
 * not begin again; in the end there are no connections, sockets, packets or requests; and nothing is used that is
 * free (the sanitizer).
 */
#include <sanitizer/common_interface_defs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/tcp.h"

#define RACERS 3        /* threads of programs, the first fibers */
#define FIBERS 8        /* with the two of the timers, one that receives, two more or designated harts */
#define FIBER_STACK (512u << 10)
#define RACE_OPERATIONS 40u
#define RACE_SLOTS 5u
#define RACE_PEERS 128u
#define RACE_PORT 9
#define RACE_PIECE 600u
#define RACE_MOST 4000u /* bytes that a peer's connection sends: less than a window */
#define FROM_KERNEL 0x5a
#define FROM_PEER 0xa5

#define RACE_CHECK(what)                                                                    \
    do {                                                                                    \
        if (!(what))                                                                        \
            host_failed(__FILE__, __LINE__, "race, seed %u: not so: %s", race_seed, #what); \
    } while (0)

static uint32_t race_seed;
static struct random race_random;
static bool race_quiet; /* no fiber goes on but the running one */

static uint32_t race_draw(uint32_t below)
{
    return random_below(&race_random, below);
}

/* Fibers ----------------------------------------------------------------------------------------------------------- */

/* Stores the registers that a call keeps on the stack, whose end goes to *from, and goes on with another stack. */
void race_switch(void **from, void *to);
__asm__(".text\n"
        ".type race_switch, @function\n"
        "race_switch:\n"
        "    push %rbp\n    push %rbx\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbx\n    pop %rbp\n"
        "    ret\n");
#define SWITCHED 8 /* words: six registers, where it goes on, and room that aligns */

struct fiber {
    void **at, *stack, *fake; /* fake: the sanitizer's */
    void (*fn)(unsigned self);
    unsigned locks;
    bool on_designated;
};
static struct fiber fibers[FIBERS], *fiber;
static void *race_at; /* of the test */
static const void *race_stack;
static size_t race_stack_bytes;

/* Back to the test. */
static void fiber_yields(void)
{
    struct fiber *f = fiber;
    f->locks = host_locks_held;
    f->on_designated = on_designated;
    __sanitizer_start_switch_fiber(&f->fake, race_stack, race_stack_bytes);
    race_switch((void **)&f->at, race_at);
    __sanitizer_finish_switch_fiber(f->fake, 0, 0);
    host_locks_held = f->locks;
    on_designated = f->on_designated;
}

static void race_others_may_run(void)
{
    if (fiber && !race_quiet && !race_draw(2 + race_seed % 4))
        fiber_yields();
}

static void race_others_run(void)
{
    CHECK(fiber && !race_quiet);
    fiber_yields();
}

static void fiber_begins(void)
{
    __sanitizer_finish_switch_fiber(0, &race_stack, &race_stack_bytes);
    host_locks_held = 0;
    on_designated = false;
    for (;;) {
        fiber->fn((unsigned)(fiber - fibers));
        fiber_yields();
    }
}

static void fiber_runs(unsigned i)
{
    void *fake;
    fiber = &fibers[i];
    curhart = &harts[i];
    __sanitizer_start_switch_fiber(&fake, fiber->stack, FIBER_STACK);
    race_switch(&race_at, fiber->at);
    __sanitizer_finish_switch_fiber(fake, 0, 0);
    fiber = 0;
    curhart = &harts[0];
    host_locks_held = 0;
    on_designated = false;
}

/* The peer --------------------------------------------------------------------------------------------------------- */

struct race_peer {
    bool used, answered, established, ended, has_reset; /* has_reset: the peer; reset: the kernel */
    bool reset, by_peer, owed; /* owed: an answer at once */
    uint16_t kernel;
    uint32_t first, una, nxt, rcv_nxt;
};
static struct race_peer race_peers[RACE_PEERS]; /* by ports, from RACE_PEER on */
static unsigned race_peer_count;
static bool race_is_over; /* the peer resets everything */
#define RACE_PEER 20000u

static struct seg race_to_kernel[LOGGED];
static unsigned race_to_kernel_first, race_to_kernel_end;

static void race_peer_sends(const struct race_peer *p, uint32_t flags, uint32_t seq, uint32_t length)
{
    struct seg *s = &race_to_kernel[race_to_kernel_end++ % LOGGED];
    RACE_CHECK(race_to_kernel_end - race_to_kernel_first <= LOGGED);
    *s = (struct seg){.peer = (uint16_t)(RACE_PEER + (p - race_peers)),
                      .kernel = p->kernel,
                      .seq = seq,
                      .ack = flags & A ? p->rcv_nxt : 0,
                      .flags = flags,
                      .window = 8000,
                      .mss = flags & S ? MSS : 0,
                      .length = length};
    memset(s->data, FROM_PEER, length);
}

static void race_peer_resets(struct race_peer *p)
{
    p->has_reset = true;
    race_peer_sends(p, R, p->nxt, 0);
}

/* The first byte once more, when it is acknowledged: answered at once, even if the connection is just ending. */
static void race_peer_repeats(const struct race_peer *p)
{
    if (p->una - p->first < 2)
        return;
    race_peer_sends(p, P | A, p->first + 1, 1);
    race_to_kernel[(race_to_kernel_end - 1) % LOGGED].at = 1;
}

static void race_peer_answers_syn(struct race_peer *p, const struct seg *s)
{
    p->kernel = s->kernel;
    p->rcv_nxt = s->seq + 1;
    switch (race_draw(4)) {
    case 0: /* refused */
        p->has_reset = true;
        race_peer_sends(p, R | A, 0, 0);
        return;
    case 1: return; /* it does not hear it */
    default:
        p->first = p->una = p->nxt = race_draw(UINT32_MAX);
        p->used = true;
        race_peer_sends(p, S | A, p->nxt++, 0);
    }
}

static void race_peer_hears(const struct seg *s)
{
    struct race_peer *p = &race_peers[s->peer - RACE_PEER];
    RACE_CHECK(p < race_peers + race_peer_count);
    p->answered = true;
    p->owed = false;
    RACE_CHECK(!p->reset || s->flags & R); /* nothing comes after a reset, but for what is late */
    if (s->flags & R) {
        p->reset = true;
        return;
    }
    if (race_is_over || p->has_reset || p->reset) {
        struct race_peer gone = {.kernel = s->kernel, .rcv_nxt = s->seq + s->length + !!(s->flags & (S | F))};
        struct seg *to;
        race_peer_sends(&gone, s->flags & A ? R : R | A, s->flags & A ? s->ack : 0, 0);
        to = &race_to_kernel[(race_to_kernel_end - 1) % LOGGED];
        to->peer = s->peer;
        return;
    }
    if (s->flags & S && !(s->flags & A)) {
        if (!p->used)
            race_peer_answers_syn(p, s);
        return;
    }
    if (s->flags & S) {
        p->rcv_nxt = s->seq + 1;
    } else if (s->seq == p->rcv_nxt) {
        for (uint32_t i = 0; i < s->length; i++)
            RACE_CHECK(s->data[i] == FROM_KERNEL);
        p->rcv_nxt += s->length + !!(s->flags & F);
    }
    if (s->flags & A) {
        RACE_CHECK(s->ack - p->first <= p->nxt - p->first);
        if (s->ack - p->una <= p->nxt - p->una)
            p->una = s->ack;
        p->established = true;
    }
    if (s->length || s->flags & (S | F))
        race_peer_sends(p, A, p->nxt, 0);
}

static void race_peer_begins(void)
{
    if (race_peer_count == RACE_PEERS)
        return;
    struct race_peer *p = &race_peers[race_peer_count++];
    *p = (struct race_peer){.used = true, .by_peer = true, .kernel = RACE_PORT};
    p->first = p->una = p->nxt = race_draw(UINT32_MAX);
    race_peer_sends(p, S, p->nxt++, 0);
}

static void race_peer_acts(void)
{
    struct race_peer *p = race_peer_count ? &race_peers[race_draw(race_peer_count)] : 0;
    if (!p || !race_draw(8)) {
        race_peer_begins();
        return;
    }
    if (!p->established || p->ended || p->has_reset || p->reset)
        return;
    uint32_t how = race_draw(8), length = 1 + race_draw(RACE_PIECE);
    if (how == 0) {
        race_peer_repeats(p);
        race_peer_resets(p);
    } else if (how == 1) {
        p->ended = true;
        race_peer_sends(p, F | A, p->nxt++, 0);
    } else if (how == 2) {
        race_peer_repeats(p);
    } else if (p->nxt - p->first + length < RACE_MOST) {
        race_peer_sends(p, P | A, p->nxt, length);
        p->nxt += length;
    }
}

/* The fibers' work ------------------------------------------------------------------------------------------------- */

static unsigned race_left[RACERS]; /* operations */
static volatile int race_slot[RACE_SLOTS], race_listening;

/* A result of a call, whatever state its socket is in. */
static int may_be(int result)
{
    static const int states[] = {EAGAIN,       EBADF,        ENOTCONN,    EPIPE,         ECONNRESET,
                                 ECONNREFUSED, ECONNABORTED, EINPROGRESS, EALREADY,      EISCONN,
                                 EINVAL,       EADDRINUSE,   ETIMEDOUT,   EADDRNOTAVAIL, EOPNOTSUPP};
    bool known = result >= 0;
    for (unsigned i = 0; i < sizeof states / sizeof *states; i++)
        known |= result == -states[i];
    RACE_CHECK(known);
    return result;
}

/* Each thread has user memory of its own. */
#define RACE_AT(self) (4096u * ((self) + 1))
#define RACE_ADDRESS(self) (USER_AT + RACE_AT(self))
#define RACE_DATA(self) (USER_AT + RACE_AT(self) + 256)

static void race_keeps(unsigned at, int fd)
{
    int before = race_slot[at];
    race_slot[at] = fd;
    if (before >= 0)
        may_be(k_close(before));
}

static uint32_t race_address(unsigned self, uint32_t ip, uint32_t port)
{
    struct user_sockaddr_in to = address_of(ip, port);
    memcpy(user + RACE_AT(self), &to, sizeof to);
    return RACE_ADDRESS(self);
}

static void race_connects(unsigned self, int fd)
{
    struct file *f = descriptor_file(0, (uint32_t)fd);
    if (!f)
        return;
    struct socket *so = f->data;
    uint32_t flushed = so->state & SS_FLUSHED; /* its connection has ended */
    if (race_peer_count < RACE_PEERS) {
        uint32_t port = RACE_PEER + race_peer_count++;
        int error =
            may_be(CALL(sys_connect, (uint32_t)fd, race_address(self, PEER_IP, port), sizeof(struct user_sockaddr_in)));
        RACE_CHECK(!flushed || files[fd] != f || (error && error != -EINPROGRESS));
    }
    if (flushed)
        RACE_CHECK(may_be(CALL(sys_listen, (uint32_t)fd, 128)) || files[fd] != f);
    file_release(f);
}

static void race_listens(unsigned self)
{
    int fd = k_socket();
    RACE_CHECK(fd >= 0);
    int error = may_be(CALL(sys_bind, (uint32_t)fd, race_address(self, 0, RACE_PORT), sizeof(struct user_sockaddr_in)));
    if (error || (error = may_be(CALL(sys_listen, (uint32_t)fd, 128))) || race_listening >= 0)
        may_be(k_close(fd));
    else
        race_listening = fd;
}

static void race_stops_listening(void)
{
    int fd = race_listening;
    race_listening = -1;
    if (fd >= 0)
        may_be(k_close(fd));
}

static void race_accepts(unsigned self, unsigned at)
{
    (void)self;
    if (race_listening < 0)
        return;
    int fd = may_be(CALL(sys_accept, (uint32_t)race_listening, 0, 0, USER_SOCK_NONBLOCK));
    if (fd >= 0)
        race_keeps(at, fd);
}

static void race_reads(unsigned self, int fd)
{
    int n = may_be(CALL(sys_recvfrom, (uint32_t)fd, RACE_DATA(self), 1 + race_draw(RACE_PIECE), 0, 0, 0));
    for (int i = 0; i < n; i++)
        RACE_CHECK(user[RACE_AT(self) + 256 + (unsigned)i] == FROM_PEER);
}

static void race_writes(unsigned self, int fd)
{
    uint32_t n = 1 + race_draw(RACE_PIECE);
    memset(user + RACE_AT(self) + 256, FROM_KERNEL, n);
    may_be(CALL(sys_sendto, (uint32_t)fd, RACE_DATA(self), n, USER_MSG_NOSIGNAL, 0, 0));
}

static void race_lingers(unsigned self, int fd)
{
    struct user_linger linger = {(int32_t)race_draw(2), 0};
    memcpy(user + RACE_AT(self) + 16, &linger, sizeof linger);
    may_be(CALL(sys_setsockopt, (uint32_t)fd, USER_SOL_SOCKET, USER_SO_LINGER, RACE_ADDRESS(self) + 16, sizeof linger));
}

static bool race_closes; /* the first thread closes all that is open */

static void race_thread(unsigned self)
{
    for (int fd = 0; race_closes && !self && fd < FILES; fd++)
        if (files[fd])
            may_be(k_close(fd));
    if (!race_left[self])
        return;
    race_left[self]--;
    unsigned at = race_draw(RACE_SLOTS), how = race_draw(20);
    int fd = race_slot[at];
    if (how == 0)
        race_stops_listening();
    else if (race_listening < 0 && how < 4)
        race_listens(self);
    else if (how < 6)
        race_accepts(self, at);
    else if (fd < 0 || how == 6)
        race_keeps(at, k_socket());
    else if (how < 10)
        race_connects(self, fd);
    else if (how < 12)
        race_keeps(at, -1);
    else if (how < 15)
        race_writes(self, fd);
    else if (how < 18)
        race_reads(self, fd);
    else if (how == 18)
        may_be(CALL(sys_shutdown, (uint32_t)fd, race_draw(3)));
    else
        race_lingers(self, fd);
}

static void race_timer(unsigned self)
{
    rounds[self - RACERS].fn(rounds[self - RACERS].arg);
}

static void race_delay(uint32_t ticks)
{
    uint32_t until = now + ticks * 1000 / HZ;
    CHECK_EQUAL(host_locks_held, 0);
    do
        fiber_yields();
    while ((int32_t)(until - now) > 0);
}

static void race_receives(unsigned self)
{
    (void)self;
    if (race_to_kernel_first == race_to_kernel_end)
        return;
    race_quiet = true;
    struct seg *s = &race_to_kernel[race_to_kernel_first++ % LOGGED];
    race_peers[s->peer - RACE_PEER].owed |= s->at;
    uint32_t length = make_frame(s);
    struct mbuf *m = m_get(2 + MAX(length, 60u), M_FRAME);
    CHECK(m);
    m->m_data += 2;
    m->m_len = MAX(length, 60u);
    memset(m->m_data, 0, m->m_len);
    memcpy(m->m_data, frame, length);
    m_adj(m, ETHER_HEADER);
    race_quiet = false;
    if (!inet_receive(m)) {
        inet_enter();
        ip_input(m);
        inet_leave();
    }
}

#ifdef NET_HANDED_H
/* Works off the queues of every second database; packets of one are never processed in another order. */
static void race_other(unsigned self)
{
    for (unsigned i = self % 2; i < designated_count; i += 2) {
        struct krp *krp = designated[i]->first;
        if (!krp)
            continue;
        designated[i]->first = krp->next;
        on_designated = true;
        krp->action(krp);
        on_designated = false;
    }
}
#else
static void race_other(unsigned self)
{
    race_receives(self);
}
#endif

/* The test --------------------------------------------------------------------------------------------------------- */

static bool race_goes_on(void)
{
    for (unsigned i = 0; i < RACERS; i++)
        if (race_left[i])
            return true;
    return race_to_kernel_first != race_to_kernel_end;
}

/* Until nothing is left, for at most that time. */
static void race_for(uint32_t ms)
{
    for (uint32_t end = now + ms; (int32_t)(end - now) > 0 && (objects || open_files); now += 10)
        for (unsigned i = 0; i < 8 * FIBERS; i++)
            fiber_runs(i % FIBERS);
}

static void race_begins(void)
{
    static void (*const work[FIBERS])(unsigned self) = {race_thread, race_thread,   race_thread, race_timer,
                                                        race_timer,  race_receives, race_other,  race_other};
    hart_count = FIBERS;
    for (unsigned i = 0; i < FIBERS; i++)
        harts[i].id = i;
    strcpy(bootargs, "net.databases=3 net.queue=1000"); /* no frame is dropped */
    begin();
    CHECK_EQUAL(threads, 2);
    on_sent = race_peer_hears;
    delay_passes = race_delay;
    host_others_run = race_others_run;
    host_before_lock = host_before_write = host_section_begins = race_others_may_run;
    depth = 1;
    race_random = random_from(race_seed, 8);
    race_listening = -1;
    for (unsigned i = 0; i < RACE_SLOTS; i++)
        race_slot[i] = -1;
    for (unsigned i = 0; i < RACERS; i++)
        race_left[i] = RACE_OPERATIONS;
    for (unsigned i = 0; i < FIBERS; i++) {
        struct fiber *f = &fibers[i];
        f->fn = work[i];
        f->stack = malloc(FIBER_STACK);
        CHECK(f->stack);
        f->at = (void **)((uint8_t *)f->stack + FIBER_STACK) - SWITCHED;
        memset(f->at, 0, SWITCHED * sizeof *f->at);
        f->at[6] = (void *)(uintptr_t)fiber_begins;
    }
}

static void race(void)
{
    race_begins();
    for (unsigned i = 0; race_goes_on() || i < 2000; i++) {
        fiber_runs(race_draw(FIBERS));
        if (!race_draw(16) && race_left[0] + race_left[1] + race_left[2])
            race_peer_acts();
        if (!race_draw(32))
            now += race_draw(60);
        RACE_CHECK(i < 1000000);
    }
    race_for(3000); /* delayed acknowledgements */
    for (unsigned i = 0; i < race_peer_count; i++) {
        const struct race_peer *p = &race_peers[i];
        RACE_CHECK(!p->by_peer || p->answered);
        RACE_CHECK(!p->owed);
        RACE_CHECK(p->una == p->nxt || p->reset || p->has_reset || !p->established);
    }
    race_is_over = true;
    race_closes = true;
    race_for(1000);
    for (unsigned i = 0; i < race_peer_count; i++)
        if (race_peers[i].used)
            race_peer_resets(&race_peers[i]);
    race_for(130000);
    CHECK_EQUAL(open_files, 0);
    CHECK_EQUAL(tcp_in_use(), 0);
    CHECK_EQUAL(objects, 0);
}

static void race_in_child(uint32_t seed)
{
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
        race_seed = seed;
        race();
        _exit(0); /* what is left is judged by the zones */
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (status)
        host_failed(__FILE__, __LINE__, "race, seed %u: it fails", (unsigned)seed);
}

HOST_TEST(contexts_race_for_connections_that_end)
{
    const char *which = getenv("RACE_SEEDS");
    unsigned first = 0, last = 199;
    if (which)
        CHECK_EQUAL(sscanf(which, "%u %u", &first, &last), 2);
    for (unsigned seed = first; seed <= last; seed++)
        race_in_child(seed);
}
