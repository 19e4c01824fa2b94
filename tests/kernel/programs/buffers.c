/*
 * Packets' memory at its limit (net.clusters=700): socket pairs that are never read take all that users may have. Then
 * a connection goes on with what is short, and a writer of more waits until there is room; in the end everything has
 * come back. Prints what is wrong, and exits with 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/abi.h"

#define PAIRS 26
#define BYTES 16384
#define LIMIT 700
#define WROTE 30000

static int wrong, pairs[PAIRS][2], connection[2], go[2];
static char bytes[WROTE];

static void expect(const char *what, long got, long wanted)
{
    if (got == wanted)
        return;
    printf("%s: %ld (errno %d) instead of %ld\n", what, got, errno, wanted);
    wrong = 1;
}

static struct user_mbuf_status status(void)
{
    struct user_mbuf_status is = {0};
    expect("SIOCMBUFSTATUS", ioctl(connection[0], USER_SIOCMBUFSTATUS, &is), 0);
    expect("the limit", is.clusters.most, LIMIT);
    expect("all within the limit", is.clusters.in_use + is.clusters.free <= LIMIT, 1);
    return is;
}

static void connects(void)
{
    struct sockaddr_in of = {.sin_family = AF_INET, .sin_port = htons(7), .sin_addr.s_addr = htonl(0x7f000001)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    connection[0] = socket(AF_INET, SOCK_STREAM, 0);
    expect("bind", bind(fd, (struct sockaddr *)&of, sizeof of) | listen(fd, 1), 0);
    expect("connect", connect(connection[0], (struct sockaddr *)&of, sizeof of), 0);
    connection[1] = accept(fd, 0, 0);
    expect("accept", connection[1] > 0, 1);
    close(fd);
}

/* Until nothing more is taken. */
static void fill(void)
{
    int out = 0;
    for (int i = 0; i < PAIRS; i++) {
        expect("socketpair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pairs[i]), 0);
        for (int end = 0; end < 2; end++) {
            errno = 0;
            if (write(pairs[i][end], bytes, BYTES) < BYTES)
                out++;
        }
    }
    expect("some find none", out > 0, 1);
}

static void short_ones_go_on(void)
{
    for (int i = 0; i < 20; i++) {
        char byte = 0;
        expect("write", write(connection[i % 2], &(char){(char)i}, 1), 1);
        expect("read", read(connection[!(i % 2)], &byte, 1), 1);
        expect("the byte", byte, (char)i);
    }
}

/* Without the pairs, which it would keep open; begins when it is told. */
static int writer(void)
{
    char byte;
    int process = fork();
    if (process)
        return process;
    close(go[1]);
    if (read(go[0], &byte, 1) != 1)
        _exit(2);
    for (int i = 0; i < WROTE; i++)
        bytes[i] = (char)(i * 7);
    _exit(write(connection[0], bytes, WROTE) != WROTE);
}

static void reads_all(void)
{
    for (int done = 0, n; done < WROTE; done += n) {
        n = (int)read(connection[1], bytes, WROTE);
        expect("read", n > 0, 1);
        if (n <= 0)
            return;
        for (int i = 0; i < n; i++)
            if (bytes[i] != (char)((done + i) * 7)) {
                expect("a byte", bytes[i], (char)((done + i) * 7));
                return;
            }
    }
}

int main(void)
{
    connects();
    expect("pipe", pipe(go), 0);
    int process = writer(), code = -1;
    struct user_mbuf_status first = status();
    fill();
    struct user_mbuf_status full = status();
    expect("failed allocations", full.clusters.denied > 0, 1);
    expect("in use", full.clusters.in_use > LIMIT / 2 && full.clusters.in_use < LIMIT, 1);
    short_ones_go_on();
    expect("no more waited", status().clusters.waits, 0);
    expect("write", write(go[1], "", 1), 1);
    for (int i = 0; i < 20 && !status().clusters.waits; i++)
        usleep(10000);
    if (wrong)
        fflush(stdout); /* it may wait for ever */
    expect("the writer waits", status().clusters.waits > 0, 1);
    for (int i = 0; i < PAIRS; i++)
        expect("close", close(pairs[i][0]) | close(pairs[i][1]), 0);
    reads_all();
    expect("wait", waitpid(process, &code, 0), process);
    expect("its code", code, 0);
    usleep(300000);
    struct user_mbuf_status last = status();
    expect("mbufs in use", last.mbufs.in_use, first.mbufs.in_use);
    expect("clusters in use", last.clusters.in_use, first.clusters.in_use);
    for (int i = 0; i < 4 && status().clusters.pages > first.clusters.pages + 4; i++)
        sleep(1);
    expect("pages come back", status().clusters.pages <= first.clusters.pages + 4, 1);
    printf("@buffers wrong=%d peak=%u pages=%u\n", wrong, (unsigned)full.clusters.peak, (unsigned)full.clusters.pages);
    return wrong;
}
