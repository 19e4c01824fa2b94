/* The scheduler where one thread executes all processes; a part of mpd.c. */

struct mpd_state mpd_only;

#define ready mpd_now.ready
#define sleepers mpd_now.sleepers

static inline bool runs_elsewhere(struct mpd_process *p)
{
    (void)p;
    return false;
}

static inline void doom(struct mpd_process *p)
{
    (void)p;
}

static inline void somebody_is_ready(void) {}

static inline void begun(void) {}

static inline bool drop_reference(int *references)
{
    return !--*references;
}

static inline void add_reference(int *references)
{
    ++*references;
}

static inline void build_spare(const char *location)
{
    (void)location;
}

static inline struct mpd_process *take_spare(const char *location)
{
    struct mpd_process *p = new_process(location);
    build(p);
    return p;
}

static inline void reserve_spare(void) {}

static inline void new_context(struct mpd_process *p, bool again)
{
    (void)p;
    (void)again;
}

static inline void run(struct mpd_process *p, char *save)
{
    mpd_now.current = p;
    mpd_now.stack_limit = p->stack + CSW_LIMIT;
    mpd_chg_context(p->stack, save);
}

/* No process is ready: naps end; else the main resource's final code is executed, then the program ends. */
static struct mpd_process *quiescent(void)
{
    while (sleepers || mpd_remote) {
        mpd_int left = sleepers ? sleepers->awake - mpd_age() : -1;
        if (mpd_remote) {
            if (!mpd_remote->wait(sleepers && left < 0 ? 0 : left))
                break;
        } else if (left > 0) {
            fflush(stdout);
            struct timespec t = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000L};
            nanosleep(&t, NULL);
        }
        wake_sleepers();
        struct mpd_process *p = take(&ready);
        if (p)
            return p;
    }
    all_wait();
    return take(&ready);
}

__attribute__((noinline, cold)) static struct mpd_process *next_slowly(void)
{
    wake_sleepers();
    struct mpd_process *p = take(&ready);
    return p ? p : quiescent();
}

static inline struct mpd_process *next_process(void)
{
    return ready.head && !sleepers ? take(&ready) : next_slowly();
}

/* Goes on with the next process that is ready. The current one is in a queue. */
static inline void give_up(struct mpd_process *self)
{
    struct mpd_process *p = next_process();
    if (p != self)
        run(p, self->stack);
}

_Noreturn static void finish(void)
{
    struct mpd_process *self = mpd_current;
    bury(self);
    struct mpd_process *p = next_process();
    /* Only now: all_wait() takes a stack, and this one is in use. */
    self->next = free_processes;
    free_processes = self;
    run(p, NULL);
    __builtin_unreachable();
}

__attribute__((noinline, cold)) static void wait_slowly(struct mpd_sem *s, const char *location)
{
    struct mpd_process *self = mpd_current;
    not_choosing(location);
    self->queue = &s->waiting;
    self->location = location;
    append(&s->waiting, self);
    give_up(self);
}

void mpd_wait(struct mpd_sem *s, const char *location)
{
    struct mpd_process *self = mpd_current, *p = ready.head;
    if (!p || sleepers || mpd_now.choosing) {
        wait_slowly(s, location);
        return;
    }
    /* append(), next_process() and run(), the loads first. */
    struct mpd_process *head = s->waiting.head, *tail = s->waiting.tail, *next = p->next;
    char *stack = p->stack, *save = self->stack;
    self->next = NULL;
    self->queue = &s->waiting;
    self->location = location;
    *(head ? &tail->next : &s->waiting.head) = self;
    s->waiting.tail = self;
    mpd_now.current = p;
    mpd_now.stack_limit = stack + CSW_LIMIT;
    ready.head = next;
    mpd_chg_context(stack, save);
}

void mpd_wake(struct mpd_sem *s)
{
    struct mpd_process *p = s->waiting.head, *head = ready.head, *tail = ready.tail, *next = p->next;
    s->waiting.head = next;
    p->next = NULL;
    p->queue = NULL;
    ready.tail = p;
    *(head ? &tail->next : &ready.head) = p;
}

_Noreturn static void carry(void)
{
    run(take(&ready), NULL);
    __builtin_unreachable();
}
