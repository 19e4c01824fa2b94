/* The scheduler where several threads execute the processes; a part of mpd.c. */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#if CSW_BACK_END != CSW_ASSEMBLER
#error "contexts that hold the thread's pointer cannot move from thread to thread"
#endif

#define MAX_THREADS 64
#define SPINS 1000       /* looks until a thread lets others have its hart */
#define IDLE_SPINS 20000 /* looks for work before a thread sleeps until there is some: to be woken takes as long */

__thread struct mpd_state mpd_of_thread;

/* Each in a line of the cache of its own: threads that wait read them all the time. */
static _Alignas(LINE) struct mpd_queue ready;
static _Alignas(LINE) int everything; /* the lock: 1 while a thread has it */
static _Alignas(LINE) struct mpd_process *sleepers;
static pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static unsigned wakes; /* under bed */
static int threads = MPD_THREADS, idle, asleep, waking;
static pthread_mutex_t exclusive[MPD_EXCLUSIVES] = {[0 ... MPD_EXCLUSIVES - 1] = PTHREAD_MUTEX_INITIALIZER};
static struct mpd_op gone_op = {.kind = MPD_PROC, .name = "a process of a destroyed resource"};
/* Of each thread, where it has nothing to do: saved only, on the thread's own stack, which is above these. */
static _Alignas(16) char idle_contexts[MAX_THREADS][(CSW_LEAST + 15) & ~15];
static int begun_threads;

static bool runs_elsewhere(struct mpd_process *p)
{
    return p->running && p != mpd_current;
}

static void die(struct mpd_process *self);
static void free_instance(struct mpd_instance *i);

#ifdef MPD_DISTURB
/* Of the suite: threads pause at random before and behind what the lock protects, so that processes meet in orders that
 * are seldom otherwise. MPD_DISTURB in the environment is the seed. */
static void disturb(void)
{
    static __thread uint32_t state;
    static uint32_t told;
    if (!state) {
        const char *seed = getenv("MPD_DISTURB");
        uint32_t number = __atomic_add_fetch(&told, 1, __ATOMIC_RELAXED);
        state = ((seed ? (uint32_t)atoi(seed) : 0) * 64 + number) * 2654435761u | 1;
    }
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    if (state % 8 == 0)
        usleep(state / 8 % 256);
}
#else
static inline void disturb(void) {}
#endif

/* A waiter spins on its cached copy: the lock is held for less time than a system call takes, so none is made. */
static void acquire(void)
{
    while (__atomic_exchange_n(&everything, 1, __ATOMIC_ACQUIRE)) {
        for (int i = 0; __atomic_load_n(&everything, __ATOMIC_RELAXED); i++) {
            if (i == SPINS) {
                sched_yield();
                i = 0;
            }
        }
    }
}

static void release(void)
{
    __atomic_store_n(&everything, 0, __ATOMIC_RELEASE);
}

/* Only notes it: to wake a thread is a system call, for which the others should not wait. */
static void somebody_is_ready(void)
{
    if (asleep > waking) {
        waking++;
        mpd_now.wakes++;
    }
}

static void wake(int count)
{
    pthread_mutex_lock(&bed);
    wakes += (unsigned)count;
    for (; count; count--)
        pthread_cond_signal(&work);
    pthread_mutex_unlock(&bed);
}

void mpd_lock(void)
{
    if (mpd_now.depth++)
        return;
    disturb();
    acquire();
    struct mpd_process *self = mpd_current;
    if (self && self->doomed)
        die(self);
}

void mpd_unlock(void)
{
    struct mpd_state *now = mpd_this_thread();
    if (--now->depth)
        return;
    int count = now->wakes;
    now->wakes = 0;
    release();
    if (count)
        wake(count);
    disturb();
}

static void doom(struct mpd_process *p)
{
    p->doomed = p->op->instance;
    p->doomed->inside++;
    p->doomed->dying++;
    p->op = &gone_op;
}

static inline void begun(void)
{
    mpd_now.depth = 1;
    mpd_unlock();
}

/* Without the lock: whether it was the last one. */
static bool drop_reference(int *references)
{
    return __atomic_load_n(references, __ATOMIC_ACQUIRE) == 1 || !__atomic_sub_fetch(references, 1, __ATOMIC_ACQ_REL);
}

static void add_reference(int *references)
{
    __atomic_add_fetch(references, 1, __ATOMIC_RELAXED);
}

static void build_spare(const char *location)
{
    struct mpd_state *now = mpd_this_thread();
    if (now->spare && now->spare_is_built)
        return;
    if (!now->spare) {
        mpd_lock();
        now->spare = new_process(location);
        mpd_unlock();
    }
    build(now->spare); /* a new stack's first pages are missing: no other thread should wait for that */
    now->spare_is_built = true;
}

static struct mpd_process *take_spare(const char *location)
{
    struct mpd_state *now = mpd_this_thread();
    build_spare(location);
    struct mpd_process *p = now->spare;
    now->spare = NULL;
    return p;
}

static void reserve_spare(void)
{
    struct mpd_state *now = mpd_this_thread();
    now->spare = free_processes;
    now->spare_is_built = false;
    if (free_processes)
        free_processes = free_processes->next;
}

void mpd_exclude(enum mpd_exclusive what)
{
    pthread_mutex_lock(&exclusive[what]);
}

void mpd_admit(enum mpd_exclusive what)
{
    pthread_mutex_unlock(&exclusive[what]);
}

void mpd_ending(void)
{
    static struct mpd_state *ends;
    struct mpd_state *none = NULL, *now = mpd_this_thread();
    if (__atomic_compare_exchange_n(&ends, &none, now, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || none == now)
        return;
    if (now->held_file)
        funlockfile(now->held_file);
    for (;;)
        sleep(1000);
}

static struct mpd_process *next_process(void)
{
    if (sleepers)
        wake_sleepers();
    return take(&ready);
}

/* What ThreadSanitizer has to know of contexts. */
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>

static __thread void *own_fiber;

static void new_context(struct mpd_process *p, bool again)
{
    if (again)
        __tsan_destroy_fiber(p->fiber);
    p->fiber = __tsan_create_fiber(0);
}

static void tell_switch(struct mpd_process *p)
{
    if (!own_fiber)
        own_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(p ? p->fiber : own_fiber, 0);
}
#else
static inline void new_context(struct mpd_process *p, bool again)
{
    (void)p;
    (void)again;
}

static inline void tell_switch(struct mpd_process *p)
{
    (void)p;
}
#endif

/* Without a process: goes on in the thread's own context. */
static void run(struct mpd_process *p, char *save)
{
    struct mpd_state *now = mpd_this_thread();
    now->current = p;
    if (p) {
        p->running = true;
        now->stack_limit = p->stack + CSW_LIMIT;
    }
    tell_switch(p);
    mpd_chg_context(p ? p->stack : now->idle_context, save);
}

static void give_up(struct mpd_process *self)
{
    struct mpd_process *p = next_process();
    if (p == self)
        return;
    int depth = mpd_now.depth;
    self->running = false;
    run(p, self->stack);
    mpd_now.depth = depth;
}

_Noreturn static void finish(void)
{
    mpd_lock();
    struct mpd_process *self = mpd_current;
    bury(self);
    self->running = false;
    self->next = free_processes;
    free_processes = self;
    run(next_process(), NULL);
    __builtin_unreachable();
}

void mpd_P(struct mpd_sem *s, const char *location)
{
    mpd_lock();
    if (s->value > 0) {
        s->value--;
    } else {
        struct mpd_process *self = mpd_current;
        not_choosing(location);
        self->queue = &s->waiting;
        self->location = location;
        append(&s->waiting, self);
        give_up(self);
    }
    mpd_unlock();
}

mpd_int mpd_value(struct mpd_sem *s)
{
    mpd_lock();
    mpd_int value = s->value;
    mpd_unlock();
    return value;
}

void mpd_V(struct mpd_sem *s)
{
    mpd_lock();
    struct mpd_process *p = take(&s->waiting);
    if (p) {
        p->queue = NULL;
        append(&ready, p);
        somebody_is_ready();
    } else {
        s->value++;
    }
    mpd_unlock();
}

/* A resource was destroyed while this process, one of its own, ran on another thread. */
static void die(struct mpd_process *self)
{
    struct mpd_instance *i = self->doomed;
    self->doomed = NULL;
    abandon(self);
    if (!--i->dying && i->destroyer)
        make_ready(i->destroyer);
    if (!--i->inside)
        free_instance(i);
    finish();
}

/* Until another thread wakes it, or the first nap ends. The lock is not held meanwhile. */
static void sleep_idle(void)
{
    mpd_int left = sleepers ? sleepers->awake - mpd_age() : -1;
    struct timespec t = {0};
    if (sleepers && left <= 0)
        return;
    if (sleepers) {
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_sec += left / 1000;
        t.tv_nsec += left % 1000 * 1000000L;
        if (t.tv_nsec >= 1000000000L) {
            t.tv_nsec -= 1000000000L;
            t.tv_sec++;
        }
    }
    asleep++;
    pthread_mutex_lock(&bed);
    unsigned before = wakes;
    mpd_now.depth = 0;
    release();
    fflush(stdout);
    if (left < 0) {
        while (wakes == before)
            pthread_cond_wait(&work, &bed);
    } else {
        pthread_cond_timedwait(&work, &bed, &t);
    }
    pthread_mutex_unlock(&bed);
    mpd_lock();
    asleep--;
    if (waking)
        waking--;
}

/* There is a process, and no other thread about to take it. */
static inline bool to_be_had(void)
{
    return __atomic_load_n(&ready.head, __ATOMIC_RELAXED) && !__atomic_load_n(&everything, __ATOMIC_RELAXED);
}

static void *thread(void *unused)
{
    struct mpd_state *now = mpd_this_thread();
    mpd_lock();
    char *idle_context = idle_contexts[begun_threads++];
    now->idle_context = idle_context;
    now->loops = MPD_LOOPS;
    *(uintptr_t *)(void *)(idle_context + CSW_MAGIC) = CSW_MAGIC_WORD;
    for (int looks = 0;;) {
        struct mpd_process *p = next_process();
        if (p) {
            run(p, idle_context);
            now->depth = 1;
            looks = 0;
            continue;
        }
        if (++idle == threads && !sleepers) {
            all_wait();
            idle--;
            continue;
        }
        mpd_unlock();
        while (looks < IDLE_SPINS && !to_be_had()) {
            if (++looks % SPINS == 0)
                sched_yield();
        }
        mpd_lock();
        /* Where another thread was faster it looks on: to be woken costs both more than that. */
        if (looks == IDLE_SPINS) {
            looks = 0;
            if (!ready.head)
                sleep_idle();
        }
        idle--;
    }
    return unused;
}

_Noreturn static void carry(void)
{
    const char *told = getenv("MPD_PARALLEL");
    if (told)
        threads = atoi(told);
    if (threads < 1 || threads > MAX_THREADS)
        mpd_error(NULL, "MPD_PARALLEL is a number of threads, 1 to 64");
    for (int i = 1; i < threads; i++) {
        pthread_t made;
        if (pthread_create(&made, NULL, thread, NULL))
            mpd_error(NULL, "a thread cannot be made");
    }
    thread(NULL);
    __builtin_unreachable();
}
