/* Timers: timer_create and its like, what their signals carry, and what of them survives fork and execve. */
#include <sys/time.h>

#include "say.h"

static volatile sig_atomic_t handled, code_seen, value_seen;

static void count(int number, siginfo_t *i, void *context)
{
    (void)number, (void)context;
    handled++;
    code_seen = i->si_code == SI_TIMER;
    value_seen = i->si_value.sival_int;
}

static struct itimerspec in_ms(long value, long interval)
{
    return (struct itimerspec){.it_value = {.tv_sec = value / 1000, .tv_nsec = value % 1000 * 1000000},
                               .it_interval = {.tv_sec = interval / 1000, .tv_nsec = interval % 1000 * 1000000}};
}

static long ms_of(struct timespec t)
{
    return t.tv_sec * 1000 + (t.tv_nsec + 999999) / 1000000;
}

static void say_timer(const char *what, timer_t t, long value_low, long value_high)
{
    struct itimerspec now;
    int result = timer_gettime(t, &now);
    long value = ms_of(now.it_value);
    say("%s: %d, left as expected %d, again %ld", what, result, value >= value_low && value <= value_high,
        ms_of(now.it_interval));
}

static timer_t made(clockid_t clock, int how, int number, int value)
{
    struct sigevent event = {.sigev_notify = how, .sigev_signo = number, .sigev_value.sival_int = value};
    timer_t t = 0;
    int result = timer_create(clock, &event, &t);
    say("timer_create: %d", result);
    return t;
}

static void awaits(const char *what, int number)
{
    sigset_t set;
    siginfo_t i = {0};
    struct timespec limit = {.tv_sec = 3};
    sigemptyset(&set);
    sigaddset(&set, number);
    int got = sigtimedwait(&set, &i, &limit);
    say("%s: %s, by a timer %d, value %d", what, got > 0 ? judge_signal(got) : judge_error(errno),
        i.si_code == SI_TIMER, i.si_value.sival_int);
}

static void once(clockid_t clock)
{
    timer_t t = made(clock, SIGEV_SIGNAL, SIGUSR1, 4711);
    struct itimerspec to = in_ms(20, 0), old;
    say_timer("not set", t, 0, 0);
    SAID(timer_settime(t, 0, &to, 0));
    say_timer("set", t, 1, 20);
    awaits("once", SIGUSR1);
    say_timer("over", t, 0, 0);
    SAID(timer_getoverrun(t));
    to = in_ms(5000, 7000);
    SAID(timer_settime(t, 0, &to, &old));
    say("before: %ld %ld", ms_of(old.it_value), ms_of(old.it_interval));
    to = in_ms(0, 50);
    SAID(timer_settime(t, 0, &to, &old));
    say("before: %d %ld", ms_of(old.it_value) > 4000 && ms_of(old.it_value) <= 5000, ms_of(old.it_interval));
    say_timer("stopped", t, 0, 0);
    /* Until a time in the future, or in the past. */
    clock_gettime(clock, &to.it_value);
    to.it_interval = (struct timespec){0};
    to.it_value.tv_nsec += 20000000;
    if (to.it_value.tv_nsec >= 1000000000) {
        to.it_value.tv_nsec -= 1000000000;
        to.it_value.tv_sec++;
    }
    SAID(timer_settime(t, TIMER_ABSTIME, &to, 0));
    awaits("until", SIGUSR1);
    to.it_value = (struct timespec){.tv_nsec = 1};
    SAID(timer_settime(t, TIMER_ABSTIME, &to, 0));
    awaits("in the past", SIGUSR1);
    SAID(timer_delete(t));
    SAID(timer_delete(t));
    SAID(timer_settime(t, 0, &to, 0));
    SAID(timer_gettime(t, &old));
    SAID(timer_getoverrun(t));
}

/* Again and again; expirations while the signal is pending are counted. */
static void again(void)
{
    timer_t t = made(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, -5),
            other = made(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR2, 6);
    struct itimerspec to = in_ms(10, 10);
    SAID(timer_settime(t, 0, &to, 0));
    for (int i = 0; i < 3; i++)
        awaits("again", SIGUSR1);
    milliseconds(65);
    awaits("late", SIGUSR1);
    int overruns = timer_getoverrun(t);
    say("overruns: %d", overruns >= 3 && overruns <= 30);
    to = in_ms(0, 0);
    SAID(timer_settime(t, 0, &to, 0));
    struct itimerspec soon = in_ms(10, 0), later = in_ms(30, 0);
    SAID(timer_settime(t, 0, &later, 0));
    SAID(timer_settime(other, 0, &soon, 0));
    awaits("the first", SIGUSR2);
    awaits("the second", SIGUSR1);
    SAID(timer_getoverrun(other));
    SAID(timer_delete(t));
    SAID(timer_delete(other));
}

/* A handler, in the middle of calls. */
static void handlers(void)
{
    struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO};
    sigset_t set;
    struct timespec rest, long_time = {.tv_sec = 5};
    sigaction(SIGUSR1, &action, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &set, 0);
    timer_t t = made(CLOCK_REALTIME, SIGEV_SIGNAL, SIGUSR1, 99);
    struct itimerspec to = in_ms(20, 0);
    SAID(timer_settime(t, 0, &to, 0));
    SAID(nanosleep(&long_time, &rest));
    say("handled %d, by a timer %d, value %d", (int)handled, (int)code_seen, (int)value_seen);
    int ends[2];
    char c;
    pipe(ends);
    to = in_ms(10, 10);
    SAID(timer_settime(t, 0, &to, 0));
    for (int i = 0; i < 3; i++)
        SAID(read(ends[0], &c, 1));
    /* A child has no timers, nor has an executed program. */
    handled = 0;
    pid_t id = fork();
    if (!id) {
        handled = 0;
        struct timespec some = {.tv_nsec = 50000000};
        int error = nanosleep(&some, 0);
        _exit((error != 0) * 1 + (handled != 0) * 2 + (timer_getoverrun(t) != -1) * 4);
    }
    while (waitpid(id, 0, 0) < 0 && errno == EINTR)
        ;
    SAID(timer_delete(t));
    say("handled meanwhile: %d", handled > 0);
    close(ends[0]);
    close(ends[1]);
    sigprocmask(SIG_BLOCK, &set, 0);
}

static void children(const char *self)
{
    pid_t id = fork();
    if (!id) {
        timer_t t;
        struct itimerspec to = in_ms(20, 20);
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
        timer_create(CLOCK_MONOTONIC, &event, &t);
        timer_settime(t, 0, &to, 0);
        execl(self, self, "sleeps", (char *)0);
        _exit(99);
    }
    say_wait("executes", id, 0);
    id = fork();
    if (!id) {
        timer_t t;
        struct itimerspec to = in_ms(20, 0);
        timer_create(CLOCK_MONOTONIC, 0, &t);
        timer_settime(t, 0, &to, 0);
        for (;;)
            pause();
    }
    say_wait("without an event", id, 0);
    id = vfork();
    if (!id) {
        timer_t t;
        struct sigevent event = {.sigev_notify = SIGEV_NONE};
        _exit(timer_create(CLOCK_MONOTONIC, &event, &t) != 0);
    }
    say_wait("in vfork", id, 0);
}

static volatile uint32_t calls, value_of_call, other_thread;
static pthread_t first;

static void called(union sigval value)
{
    value_of_call = (uint32_t)value.sival_int;
    other_thread = !pthread_equal(pthread_self(), first);
    __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST);
}

static void functions(void)
{
    timer_t t;
    struct sigevent event = {
        .sigev_notify = SIGEV_THREAD, .sigev_notify_function = called, .sigev_value.sival_int = 321};
    struct itimerspec to = in_ms(10, 0);
    first = pthread_self();
    SAID(timer_create(CLOCK_MONOTONIC, &event, &t));
    say_timer("not set", t, 0, 0);
    SAID(timer_settime(t, 0, &to, 0));
    for (int turn = 0; turn < 3000 && !calls; turn++)
        milliseconds(1);
    say("calls %u, value %u, in another thread %u", (unsigned)calls, (unsigned)value_of_call, (unsigned)other_thread);
    to = in_ms(5, 5);
    SAID(timer_settime(t, 0, &to, 0));
    for (int turn = 0; turn < 3000 && calls < 5; turn++)
        milliseconds(1);
    say("again: %d", calls >= 5);
    to = in_ms(0, 0);
    SAID(timer_settime(t, 0, &to, 0));
    milliseconds(20);
    uint32_t now = calls;
    milliseconds(20);
    say("stopped: %d", now == calls);
    say_timer("stopped", t, 0, 0);
    SAID(timer_delete(t));
}

static void wrong(void)
{
    timer_t t, many[8];
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec to = in_ms(10, 0);
    SAID(timer_create(CLOCK_MONOTONIC, &event, &t));
    to.it_value.tv_nsec = 1000000000;
    SAID(timer_settime(t, 0, &to, 0));
    to.it_value.tv_nsec = -1;
    SAID(timer_settime(t, 0, &to, 0));
    to = in_ms(-1000, 0);
    SAID(timer_settime(t, 0, &to, 0));
    to = in_ms(10, 0);
    to.it_interval.tv_nsec = 1000000000;
    say("an interval that is none: %d", timer_settime(t, 0, &to, 0));
    SAID(timer_delete(t));
    event.sigev_signo = 77;
    SAID(timer_create(CLOCK_MONOTONIC, &event, &t));
    event.sigev_signo = 0;
    SAID(timer_create(CLOCK_MONOTONIC, &event, &t));
    event = (struct sigevent){.sigev_notify = 55, .sigev_signo = SIGUSR1};
    SAID(timer_create(CLOCK_MONOTONIC, &event, &t));
    event = (struct sigevent){.sigev_notify = SIGEV_NONE};
    SAID(timer_create(77, &event, &t));
    for (int i = 0; i < 8; i++)
        SAID(timer_create(CLOCK_MONOTONIC, &event, &many[i]));
    to = in_ms(1000, 0);
    SAID(timer_settime(many[3], 0, &to, 0));
    say_timer("of none", many[3], 900, 1000);
    for (int i = 0; i < 8; i++)
        SAID(timer_delete(many[i]));
}

int main(int argc, char **argv)
{
    sigset_t set;
    if (argc > 1 && !strcmp(argv[1], "sleeps")) {
        struct timespec t = {.tv_nsec = 60000000};
        return nanosleep(&t, 0) ? 1 : 5;
    }
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, 0);
    once(CLOCK_MONOTONIC);
    once(CLOCK_REALTIME);
    again();
    handlers();
    children(argv[0]);
    functions();
    wrong();
    return 0;
}
