/* Cancelling threads: which calls are cancellation points, what runs then, and what is not cancelled. */
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "say.h"

static int ends[2];
static sem_t sem, ready;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_t forever;
static volatile int order, steps[8], passed;
static pthread_key_t key;

static void step(void *arg)
{
    steps[order++] = (int)(long)arg;
}

static void *sleeps(void *arg)
{
    (void)arg;
    for (;;)
        milliseconds(50);
    return 0;
}

enum point {
    READ,
    READV,
    POLL,
    SELECT,
    PAUSE,
    SIGSUSPEND,
    SIGWAIT,
    SIGTIMEDWAIT,
    NANOSLEEP,
    CLOCK_SLEEP,
    SLEEP,
    SEM,
    SEM_TIMED,
    COND,
    COND_TIMED,
    JOIN,
    WAITPID,
    WAITID,
    LOCKF,
    PPOLL,
    PSELECT,
    WRITE,
    ACCEPT,
    CONNECT,
    RECV,
    OPEN,
    TEST,
    POINTS
};
static const char *const names[] = {"read",
                                    "readv",
                                    "poll",
                                    "select",
                                    "pause",
                                    "sigsuspend",
                                    "sigwait",
                                    "sigtimedwait",
                                    "nanosleep",
                                    "clock_nanosleep",
                                    "sleep",
                                    "sem_wait",
                                    "sem_timedwait",
                                    "pthread_cond_wait",
                                    "pthread_cond_timedwait",
                                    "pthread_join",
                                    "waitpid",
                                    "waitid",
                                    "lockf",
                                    "ppoll",
                                    "pselect",
                                    "write",
                                    "accept",
                                    "connect",
                                    "recv",
                                    "open",
                                    "pthread_testcancel"};

static volatile int has_mutex; /* in clean-up handlers */

static void unlocks(void *arg)
{
    (void)arg;
    __atomic_fetch_add(&has_mutex, pthread_mutex_trylock(&mutex) == EBUSY, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&mutex);
}

static void full(int fd)
{
    static char much[4096];
    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (write(fd, much, sizeof much) > 0)
        ;
    while (write(fd, much, 1) > 0)
        ;
    fcntl(fd, F_SETFL, 0);
}

static const char *self;
static int lock_fd, listening, datagrams, connecting;
static struct sockaddr_in full_port; /* its queue is full: a connect waits */
static pid_t child;

static void fill_port(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t length = sizeof full_port;
    full_port = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bind(fd, (struct sockaddr *)&full_port, sizeof full_port);
    listen(fd, 1);
    getsockname(fd, (struct sockaddr *)&full_port, &length);
    for (int i = 0; i < 4; i++) {
        int other = socket(AF_INET, SOCK_STREAM, 0);
        fcntl(other, F_SETFL, O_NONBLOCK);
        connect(other, (struct sockaddr *)&full_port, sizeof full_port);
    }
}

/* Waits for ever, unless it is cancelled. */
static void waits_in(enum point point)
{
    struct timespec ten = {.tv_sec = 10}, until;
    struct pollfd p = {ends[0], POLLIN, 0};
    struct iovec v = {0, 1};
    fd_set set;
    sigset_t mask, none;
    siginfo_t info;
    int number;
    char c;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    sigemptyset(&none);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    v.iov_base = &c;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    switch (point) {
    case READ: read(ends[0], &c, 1); break;
    case READV: readv(ends[0], &v, 1); break;
    case POLL: poll(&p, 1, 10000); break;
    case SELECT: select(ends[0] + 1, &set, 0, 0, &(struct timeval){.tv_sec = 10}); break;
    case PAUSE: pause(); break;
    case SIGSUSPEND: sigsuspend(&none); break;
    case SIGWAIT: sigwait(&mask, &number); break;
    case SIGTIMEDWAIT: sigtimedwait(&mask, &info, &ten); break;
    case NANOSLEEP: nanosleep(&ten, 0); break;
    case CLOCK_SLEEP: clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, 0); break;
    case SLEEP: sleep(10); break;
    case SEM: sem_wait(&sem); break;
    case SEM_TIMED: sem_timedwait(&sem, &until); break;
    case COND:
    case COND_TIMED:
        pthread_mutex_lock(&mutex);
        pthread_cleanup_push(unlocks, 0);
        if (point == COND)
            pthread_cond_wait(&cond, &mutex);
        else
            pthread_cond_timedwait(&cond, &mutex, &until);
        pthread_cleanup_pop(1);
        break;
    case JOIN: pthread_join(forever, 0); break;
    case WAITPID: waitpid(child, 0, 0); break;
    case WAITID: waitid(P_ALL, 0, &info, WEXITED); break;
    case LOCKF: lockf(lock_fd, F_LOCK, 0); break;
    case PPOLL: ppoll(&p, 1, &ten, &none); break;
    case PSELECT: pselect(ends[0] + 1, &set, 0, 0, &ten, &none); break;
    case WRITE: write(ends[1], &c, 1); break;
    case ACCEPT: accept(listening, 0, 0); break;
    case CONNECT: connect(connecting, (struct sockaddr *)&full_port, sizeof full_port); break;
    case RECV: recv(datagrams, &c, 1, MSG_PEEK); break;
    case OPEN: open("fifo", O_RDONLY); break;
    default:
        for (;;)
            pthread_testcancel();
    }
}

static void *waits(void *arg)
{
    pthread_cleanup_push(step, (void *)1);
    pthread_cleanup_push(step, (void *)2);
    pthread_setspecific(key, (void *)3);
    sem_post(&ready);
    waits_in((enum point)(long)arg);
    passed = 1;
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return 0;
}

/* Cancelled while it waits; `early`: before it begins to wait. */
static void one(enum point point, int early)
{
    pthread_t t;
    void *result = 0;
    order = passed = 0;
    pthread_create(&t, 0, waits, (void *)point);
    while (sem_wait(&ready))
        ;
    if (!early)
        milliseconds(5);
    int error = pthread_cancel(t);
    pthread_join(t, &result);
    say("%s: %d, cancelled %d, passed %d, steps %d: %d %d %d", names[point], error, result == PTHREAD_CANCELED, passed,
        order, steps[0], steps[1], steps[2]);
}

/* Calls that are no cancellation points, or not at that moment. */
static void *locks(void *arg)
{
    int old;
    (void)arg;
    sem_post(&ready);
    pthread_mutex_lock(&mutex);
    passed = 1;
    pthread_mutex_unlock(&mutex);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    milliseconds(1);
    pthread_testcancel();
    passed = 2;
    pthread_setcancelstate(old, 0);
    pthread_testcancel();
    passed = 3;
    return 0;
}

static void disabled(void)
{
    pthread_t t;
    void *result = 0;
    passed = 0;
    pthread_mutex_lock(&mutex);
    pthread_create(&t, 0, locks, 0);
    while (sem_wait(&ready))
        ;
    milliseconds(5);
    SAID(pthread_cancel(t));
    milliseconds(5);
    say("passed %d", passed);
    pthread_mutex_unlock(&mutex);
    SAID(pthread_join(t, &result));
    say("passed %d, cancelled %d", passed, result == PTHREAD_CANCELED);
}

static void *reads_what_is_there(void *arg)
{
    char c = 0;
    int *got = arg;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
    sem_post(&ready);
    got[0] = (int)read(ends[0], &c, 1);
    got[1] = c;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, 0);
    pthread_testcancel();
    got[0] = 99;
    return 0;
}

static void *ends_itself(void *arg)
{
    pthread_cleanup_push(step, (void *)7);
    pthread_cancel(pthread_self());
    pthread_cleanup_push(step, (void *)8);
    pthread_testcancel();
    passed = 1;
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return arg;
}

static int ended;

static void *exits(void *arg)
{
    pthread_cleanup_push(step, (void *)4);
    pthread_cleanup_push(step, (void *)5);
    pthread_cleanup_pop(1);
    pthread_cleanup_push(step, (void *)6);
    pthread_exit(arg);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return 0;
}

static void others(void)
{
    pthread_t t;
    void *result = 0;
    int got[2] = {0}, old = -1;
    pthread_create(&t, 0, reads_what_is_there, got);
    while (sem_wait(&ready))
        ;
    milliseconds(5);
    pthread_cancel(t);
    milliseconds(5);
    write(ends[1], "r", 1);
    pthread_join(t, &result);
    say("read %d '%c', cancelled %d", got[0], got[1], result == PTHREAD_CANCELED);
    order = passed = 0;
    pthread_create(&t, 0, ends_itself, 0);
    pthread_join(t, &result);
    say("itself: cancelled %d, passed %d, steps %d: %d %d", result == PTHREAD_CANCELED, passed, order, steps[0],
        steps[1]);
    order = 0;
    pthread_create(&t, 0, exits, &ended);
    pthread_join(t, &result);
    say("pthread_exit: %d, steps %d: %d %d %d", result == &ended, order, steps[0], steps[1], steps[2]);
    SAID(pthread_setcancelstate(77, &old));
    SAID(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    say("was enabled %d", old == PTHREAD_CANCEL_ENABLE);
    SAID(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    say("was enabled %d", old == PTHREAD_CANCEL_ENABLE);
    SAID(pthread_setcanceltype(77, &old));
    SAID(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
    say("was deferred %d", old == PTHREAD_CANCEL_DEFERRED);
    /* One of several that wait for a condition: the others are woken. */
    pthread_t three[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&three[i], 0, waits, (void *)COND);
    for (int i = 0; i < 3; i++)
        while (sem_wait(&ready))
            ;
    milliseconds(5);
    pthread_cancel(three[1]);
    pthread_join(three[1], &result);
    say("one of three: cancelled %d", result == PTHREAD_CANCELED);
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 3; i += 2) {
        pthread_join(three[i], &result);
        say("another: cancelled %d", result == PTHREAD_CANCELED);
    }
    say("in clean-up handlers the mutex was the thread's: %d", has_mutex);
}

/* A process with a cancelled thread forks and executes; the forking thread is not cancelled in the child. */
static void *forks(void *arg)
{
    (void)arg;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
    sem_post(&ready);
    while (!passed)
        milliseconds(1);
    pid_t id = fork();
    if (!id)
        _exit(3);
    say_wait("forked", id, 0);
    id = vfork();
    if (!id)
        execl(self, self, "exit", (char *)0);
    say_wait("executed", id, 0);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, 0);
    pthread_testcancel();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "exit"))
        return 6;
    sigset_t set;
    self = argv[0];
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pipe(ends);
    sem_init(&sem, 0, 0);
    sem_init(&ready, 0, 0);
    pthread_key_create(&key, step);
    pthread_create(&forever, 0, sleeps, 0);
    lock_fd = open("locked", O_RDWR | O_CREAT, 0644);
    child = fork();
    if (!child) {
        lockf(lock_fd, F_LOCK, 0);
        write(ends[1], "", 1);
        for (;;)
            pause();
    }
    char c;
    read(ends[0], &c, 1);
    mkfifo("fifo", 0600);
    listening = socket(AF_INET, SOCK_STREAM, 0);
    datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    say("sockets %d, listens %d", listening >= 0 && datagrams >= 0, listen(listening, 1));
    fill_port();
    for (int early = 0; early < 2; early++)
        for (enum point point = 0; point < POINTS; point++) {
            int write_end = ends[1], read_end = ends[0];
            if (point == WRITE) {
                pipe(ends);
                full(ends[1]);
            }
            if (point == CONNECT)
                connecting = socket(AF_INET, SOCK_STREAM, 0);
            one(point, early);
            if (point == CONNECT)
                close(connecting);
            if (point == WRITE) {
                close(ends[0]);
                close(ends[1]);
                ends[0] = read_end;
                ends[1] = write_end;
            }
        }
    say("sem: %d", sem_trywait(&sem));
    SAID(pthread_mutex_trylock(&mutex));
    pthread_mutex_unlock(&mutex);
    disabled();
    others();
    pthread_t t;
    void *result = 0;
    passed = 0;
    pthread_create(&t, 0, forks, 0);
    while (sem_wait(&ready))
        ;
    pthread_cancel(t);
    passed = 1;
    pthread_join(t, &result);
    say("in the end: %d", result == PTHREAD_CANCELED);
    kill(child, SIGKILL);
    say_wait("child", child, 0);
    SAID(pthread_cancel(forever));
    pthread_join(forever, &result);
    say("for ever: %d", result == PTHREAD_CANCELED);
    return 0;
}
