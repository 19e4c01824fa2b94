/*
 * webstone: the load of SGI's WebStone 2.0 on a web server. CLIENTS processes fetch REQUESTS files in all, each by a
 * connection of its own (HTTP/1.0, as WebStone does), and check every byte:
 *
 *   webstone [-g GATE] [-k PER] [-s SEED] ADDRESS PORT CLIENTS REQUESTS
 *   webstone gate PORT [N [PID]]       waits for N connections (1) at once; then ends process PID
 *
 * The files are those of its filelist.standard: of 1000 requests 350 are /file500.html, 500 /file5k.html, 140
 * /file50k.html, 9 /file500k.html, 1 /file5m.html. Of fewer, as near to that as possible; in an order that SEED draws.
 * Their contents are written by sim/images/disks.py. -k: PER requests over one connection (HTTP/1.1). -g: it begins
 * once GATE, a port of the server's, is open, and closes the next port when it has ended. Prints
 *
 *   @webstone clients=... requests=... seed=... bytes=... us=... connections=... retries=... mean_us=... p50_us=...
 *             p90_us=... most_us=... load_percent=...
 *   @webstone_file bytes=... requests=... mean_us=... most_us=...
 *
 * us: from the first request to the end of the last answer; the others: from the begin of a request, with its
 * connecting, to the end of its answer; load: the mean number of clients waiting for an answer (WebStone's "Little's
 * load factor"). Ends with 1 if an answer is wrong.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MOST 100
#define REQUESTS_MOST 10000
#define TRIES 400
#define TRY_US 5000
#define LINGER_US 20000 /* after the last word: what the kernel has not sent then is lost */
#define PERIOD 8191     /* of the files' content: a prime, so that no two blocks are alike */

static const struct {
    const char *path;
    unsigned bytes, of_1000;
} files[] = {{"/file500.html", 500, 350},
             {"/file5k.html", 5 << 10, 500},
             {"/file50k.html", 50 << 10, 140},
             {"/file500k.html", 500 << 10, 9},
             {"/file5m.html", 5 << 20, 1}};
#define FILES (sizeof files / sizeof *files)

/* Shared by all clients. */
static struct shared {
    unsigned next, connections, retries, wrong;
    unsigned char file[REQUESTS_MOST]; /* of each request, in order */
    unsigned began[REQUESTS_MOST], ended[REQUESTS_MOST];
} *shared;
static unsigned requests = 0, per_connection = 1, seed = 1;
static struct sockaddr_in server = {.sin_family = AF_INET};
static unsigned char content[2 * PERIOD];
static char buffer[16384];

static int fail(const char *what)
{
    fprintf(stderr, "webstone: %s: %s\n", what, strerror(errno));
    return 1;
}

static unsigned microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned)now.tv_sec * 1000000u + (unsigned)now.tv_nsec / 1000;
}

static unsigned draw(unsigned below)
{
    static unsigned long long state;
    if (!state)
        state = 0x9e3779b97f4a7c15u + seed;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 32) * below >> 32);
}

/* The shares rounded to whole numbers: those with the largest remainders get one more. */
static void choose_files(void)
{
    unsigned count[FILES], rest[FILES], given = 0;
    for (unsigned i = 0; i < FILES; i++) {
        count[i] = requests * files[i].of_1000 / 1000;
        rest[i] = requests * files[i].of_1000 % 1000;
        given += count[i];
    }
    for (; given < requests; given++) {
        unsigned most = 0;
        for (unsigned i = 1; i < FILES; i++)
            if (rest[i] > rest[most])
                most = i;
        count[most]++;
        rest[most] = 0;
    }
    for (unsigned i = 0, at = 0; i < FILES; i++)
        while (count[i]--)
            shared->file[at++] = (unsigned char)i;
    for (unsigned i = requests; i > 1; i--) {
        unsigned other = draw(i);
        unsigned char was = shared->file[i - 1];
        shared->file[i - 1] = shared->file[other];
        shared->file[other] = was;
    }
}

static int connect_to(unsigned port, unsigned tries)
{
    struct sockaddr_in to = server;
    to.sin_port = htons((in_port_t)port);
    for (;; usleep(TRY_US)) { /* it may not have begun */
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || !connect(fd, (struct sockaddr *)&to, sizeof to))
            return fd;
        int was = errno;
        close(fd);
        errno = was;
        if ((errno != ECONNREFUSED && errno != ETIMEDOUT) || !tries--)
            return -1;
        __atomic_fetch_add(&shared->retries, 1, __ATOMIC_RELAXED);
    }
}

/* The gate at `port` has been open, or is passed for good. */
static int pass_gate(unsigned port)
{
    int fd = connect_to(port, TRIES);
    if (fd < 0 || read(fd, buffer, 1) < 0)
        return fail("the gate");
    return close(fd) ? fail("the gate") : 0;
}

/* Whether `n` bytes of a file are those at `at`. */
static int is_content(const char *found, unsigned n, unsigned bytes, unsigned at)
{
    for (unsigned same; n; n -= same, at += same, found += same) {
        unsigned place = (at + bytes) % PERIOD;
        same = n < PERIOD ? n : PERIOD;
        if (memcmp(found, content + place, same))
            return 0;
    }
    return 1;
}

static int wrong(unsigned which, const char *what)
{
    __atomic_fetch_add(&shared->wrong, 1, __ATOMIC_RELAXED);
    printf("webstone: request %u, %s: %s\n", which, files[shared->file[which]].path, what);
    fflush(stdout);
    return 1;
}

/* Reads the answer to request `which`, and no more unless the connection ends with it. 0, or 1 after printing why. */
static int take_answer(int fd, unsigned which, int last)
{
    unsigned bytes = files[shared->file[which]].bytes, has = 0;
    char *body, wanted[40];
    for (;;) {
        ssize_t n = read(fd, buffer + has, sizeof buffer - 1 - has);
        if (n <= 0)
            return wrong(which, n ? strerror(errno) : "no answer");
        has += (unsigned)n;
        buffer[has] = 0;
        if ((body = strstr(buffer, "\r\n\r\n")))
            break;
        if (has == sizeof buffer - 1)
            return wrong(which, "no end of the fields");
    }
    snprintf(wanted, sizeof wanted, "\r\nContent-Length: %u\r\n", bytes);
    if (strncmp(buffer, "HTTP/1.1 200 ", 13) || !strstr(buffer, wanted))
        return wrong(which, "another answer");
    body += 4;
    for (unsigned at = 0, n = has - (unsigned)(body - buffer);;) {
        if (n > bytes - at || !is_content(body, n, bytes, at))
            return wrong(which, "another content");
        at += n;
        if (at == bytes && !last)
            return 0;
        ssize_t more = read(fd, buffer, sizeof buffer);
        if (more < 0)
            return wrong(which, strerror(errno));
        if (!more)
            return at == bytes ? 0 : wrong(which, "the end is missing");
        n = (unsigned)more;
        body = buffer;
    }
}

static int ask(int fd, unsigned which, int last)
{
    char text[128];
    int n = snprintf(text, sizeof text, "GET %s HTTP/1.%d\r\nHost: server\r\nUser-Agent: WebStone/2.0\r\n%s\r\n",
                     files[shared->file[which]].path, per_connection > 1,
                     per_connection > 1 && last ? "Connection: close\r\n" : "");
    return write(fd, text, (size_t)n) == n ? 0 : wrong(which, strerror(errno));
}

static int be_client(void)
{
    int fd = -1;
    for (unsigned done = 0, which; (which = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED)) < requests;) {
        shared->began[which] = microseconds();
        if (fd < 0) {
            fd = connect_to(ntohs(server.sin_port), 0);
            if (fd < 0)
                return wrong(which, strerror(errno));
            __atomic_fetch_add(&shared->connections, 1, __ATOMIC_RELAXED);
        }
        int last = ++done % per_connection == 0;
        if (ask(fd, which, last) || take_answer(fd, which, last))
            return 1;
        shared->ended[which] = microseconds();
        if (last) {
            close(fd);
            fd = -1;
        }
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

static void print_results(unsigned clients)
{
    static unsigned took[REQUESTS_MOST];
    struct {
        unsigned requests, most;
        unsigned long long sum;
    } of[FILES] = {0};
    unsigned first = shared->began[0], us = 0;
    unsigned long long bytes = 0, sum = 0;
    for (unsigned i = 0; i < requests; i++) {
        unsigned file = shared->file[i], end = shared->ended[i] - first;
        took[i] = shared->ended[i] - shared->began[i];
        us = end > us ? end : us;
        sum += took[i];
        bytes += files[file].bytes;
        of[file].requests++;
        of[file].sum += took[i];
        of[file].most = took[i] > of[file].most ? took[i] : of[file].most;
    }
    us += !us;
    qsort(took, requests, sizeof *took, compare);
    printf("%u connections, %u requests: %lu.%02lu requests a second, %lu bytes a second\n", shared->connections,
           requests, (unsigned long)(requests * 1000000ull / us), (unsigned long)(requests * 100000000ull / us % 100),
           (unsigned long)(bytes * 1000000 / us));
    printf("@webstone clients=%u requests=%u seed=%u bytes=%llu us=%u connections=%u retries=%u mean_us=%lu p50_us=%u "
           "p90_us=%u most_us=%u load_percent=%lu\n",
           clients, requests, seed, bytes, us, shared->connections, shared->retries, (unsigned long)(sum / requests),
           took[(requests - 1) / 2], took[(requests - 1) * 9 / 10], took[requests - 1],
           (unsigned long)(100 * sum / us));
    for (unsigned i = 0; i < FILES; i++)
        if (of[i].requests)
            printf("@webstone_file bytes=%u requests=%u mean_us=%lu most_us=%u\n", files[i].bytes, of[i].requests,
                   (unsigned long)(of[i].sum / of[i].requests), of[i].most);
}

/* All `connections` stay open until the last one is there. */
static int gate(unsigned port, int pid, unsigned connections)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
    int listening = socket(AF_INET, SOCK_STREAM, 0), fd[CLIENTS_MOST];
    if (listening < 0 || bind(listening, (struct sockaddr *)&own, sizeof own) || listen(listening, CLIENTS_MOST))
        return fail("the gate");
    for (unsigned i = 0; i < connections; i++)
        if ((fd[i] = accept(listening, 0, 0)) < 0)
            return fail("the gate");
    if (pid > 0 && kill(pid, SIGTERM))
        return fail("the gate");
    for (unsigned i = 0; i < connections; i++)
        close(fd[i]);
    return close(listening) ? fail("the gate") : 0;
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: webstone [-g GATE] [-k PER] [-s SEED] ADDRESS PORT CLIENTS REQUESTS | webstone gate PORT [N [PID]]\n"
        "       of clients 1 to %d, of requests 1 to %d\n",
        CLIENTS_MOST, REQUESTS_MOST);
    return 2;
}

int main(int argc, char **argv)
{
    unsigned gate_port = 0;
    int option;
    if (argc >= 3 && argc <= 5 && !strcmp(argv[1], "gate")) {
        unsigned connections = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
        return connections && connections <= CLIENTS_MOST
                   ? gate((unsigned)atoi(argv[2]), argc > 4 ? atoi(argv[4]) : 0, connections)
                   : usage();
    }
    while ((option = getopt(argc, argv, "g:k:s:")) != -1) {
        unsigned *to = option == 'g' ? &gate_port : option == 'k' ? &per_connection : option == 's' ? &seed : 0;
        if (!to)
            return usage();
        *to = (unsigned)atoi(optarg);
    }
    if (argc - optind != 4 || !per_connection || !inet_aton(argv[optind], &server.sin_addr))
        return usage();
    server.sin_port = htons((in_port_t)atoi(argv[optind + 1]));
    unsigned clients = (unsigned)atoi(argv[optind + 2]);
    requests = (unsigned)atoi(argv[optind + 3]);
    if (!clients || clients > CLIENTS_MOST || !requests || requests > REQUESTS_MOST)
        return usage();
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return fail("memory");
    choose_files();
    for (unsigned i = 0; i < sizeof content; i++)
        content[i] = (unsigned char)(i % PERIOD * 2654435761u >> 24);

    if (gate_port && pass_gate(gate_port))
        return 1;
    int status, failed = 0;
    fflush(stdout);
    for (unsigned i = 0; i < clients; i++) {
        pid_t of = fork();
        if (of < 0)
            return fail("a client");
        if (!of)
            _exit(be_client());
    }
    while (wait(&status) > 0)
        failed |= status;
    if (gate_port && pass_gate(gate_port + 1))
        return 1;
    if (!failed && !shared->wrong)
        print_results(clients);
    fflush(stdout);
    usleep(LINGER_US);
    return failed || shared->wrong;
}
