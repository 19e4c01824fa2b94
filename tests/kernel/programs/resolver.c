/*
 * Names of hosts and services by every way there is: numbers, /etc/hosts, /etc/services, and a name server, which a
 * child of it is at 127.0.0.1: one that answers, answers late, wrongly, with damaged messages, or not at all.
 *
 *   @resolver wrong=...
 */
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned wrong;

static void expect(const char *what, long got, long wanted)
{
    if (got == wanted)
        return;
    wrong++;
    printf("%s: %ld, not %ld\n", what, got, wanted);
}

static void expect_text(const char *what, const char *got, const char *wanted)
{
    if (got && !strcmp(got, wanted))
        return;
    wrong++;
    printf("%s: %s, not %s\n", what, got ? got : "nothing", wanted);
}

/* The name server. */

static uint8_t answer[512];
static size_t length;

static void put(const void *of, size_t size)
{
    memcpy(answer + length, of, size);
    length += size;
}

static void put16(unsigned value)
{
    put((uint8_t[]){value >> 8, value}, 2);
}

/* A record of the name that is asked for, or of the one at `at` of the message. */
static void record(unsigned at, unsigned type, const void *data, unsigned size)
{
    put16(0xc000 | at);
    put16(type);
    put16(ns_c_in);
    put((uint8_t[4]){0, 0, 0, 60}, 4);
    put16(size);
    put(data, size);
    answer[7]++;
}

static void address(unsigned at, unsigned last)
{
    record(at, ns_t_a, (uint8_t[]){10, 1, 2, last}, 4);
}

static int is(const char *name)
{
    return !memcmp(answer + 13, name, strlen(name)) && answer[12] == strlen(name);
}

/* Answers the question of `size` bytes in `answer`; returns 0 if it does not. */
static int answers(size_t size, unsigned asked)
{
    unsigned type = answer[size - 3];
    length = size;
    answer[2] |= 0x80;
    if (is("none"))
        answer[3] |= 3;
    else if (is("broken"))
        answer[3] |= 2;
    else if (is("dead") || (is("late") && asked < 2))
        return 0;
    else if (type != ns_t_a || is("empty"))
        return 1;
    else if (is("alias")) {
        record(12, ns_t_cname, "\3one\4test", 10);
        address((unsigned)length - 10, 1);
    } else if (is("loop")) { /* a name that points at itself */
        unsigned at = (unsigned)length + 12;
        record(12, ns_t_cname, (uint8_t[]){(uint8_t)(0xc0 | at >> 8), (uint8_t)at}, 2);
        address(12, 1);
    } else if (is("cut")) { /* a record a byte longer than the message */
        address(12, 1);
        address(12, 2);
        length--;
    } else if (is("short")) /* an address of three bytes */
        record(12, ns_t_a, "\12\1\2", 3);
    else if (is("many"))
        for (unsigned i = 1; i <= 25; i++)
            address(12, i);
    else {
        address(12, 1);
        if (is("two"))
            address(12, 2);
    }
    return 1;
}

static void serve(int fd)
{
    char last[64] = "";
    for (unsigned asked = 0;;) {
        struct sockaddr_in from;
        socklen_t size = sizeof from;
        ssize_t got = recvfrom(fd, answer, sizeof answer, 0, (struct sockaddr *)&from, &size);
        if (got < 17)
            _exit(1);
        asked = strcmp(last, (char *)answer + 12) ? 0 : asked + 1;
        snprintf(last, sizeof last, "%s", (char *)answer + 12);
        if (is("forged")) { /* by one that does not know the number, and from another port */
            uint8_t kept[sizeof answer];
            int other = socket(AF_INET, SOCK_DGRAM, 0);
            memcpy(kept, answer, sizeof kept);
            answers((size_t)got, asked);
            answer[length - 1] = 66;
            sendto(other, answer, length, 0, (struct sockaddr *)&from, size);
            answer[0] ^= 1;
            sendto(fd, answer, length, 0, (struct sockaddr *)&from, size);
            close(other);
            memcpy(answer, kept, sizeof kept);
        }
        if (answers((size_t)got, asked))
            sendto(fd, answer, length, 0, (struct sockaddr *)&from, size);
    }
}

/* The other side. */

/* What getaddrinfo gives for a stream: an error, or the addresses' last bytes and the canonical name. */
static void resolves(const char *name, int error, const char *lasts, const char *canonical)
{
    struct addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *all = 0;
    char found[200] = "";
    int got = getaddrinfo(name, "http", &hints, &all);
    expect(name, got, error);
    if (got)
        return;
    for (struct addrinfo *one = all; one; one = one->ai_next) {
        const struct sockaddr_in *to = (const struct sockaddr_in *)one->ai_addr;
        expect("port", ntohs(to->sin_port), 80);
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%u", *found ? " " : "",
                 (unsigned)ntohl(to->sin_addr.s_addr) & 255);
    }
    if (lasts)
        expect_text(name, found, lasts);
    else
        expect(name, (long)strlen(found), 65); /* 1 to 25 */
    expect_text("canonical", all->ai_canonname, canonical);
    freeaddrinfo(all);
}

static void by_server(void)
{
    resolves("one.test", 0, "1", "one.test");
    resolves("one", 0, "1", "one.test"); /* by the list of domains to search */
    resolves("two.test", 0, "1 2", "two.test");
    resolves("many.test", 0, 0, "many.test");
    resolves("alias.test", 0, "1", "one.test");
    resolves("late.test", 0, "1", "late.test");
    resolves("forged.test", 0, "1", "forged.test");
    resolves("none.test", EAI_NONAME, 0, 0);
    resolves("empty.test", EAI_NONAME, 0, 0);
    resolves("broken.test", EAI_AGAIN, 0, 0);
    resolves("dead.test", EAI_AGAIN, 0, 0);
    resolves("short.test", EAI_NONAME, 0, 0);
    resolves("cut.test", 0, "1", "cut.test"); /* but for the record that is cut */
    resolves("loop.test", 0, "1", "loop.test");
    resolves("..", EAI_NONAME, 0, 0);
    struct hostent *host = gethostbyname("two.test");
    expect("gethostbyname", host && host->h_addr_list[1] ? host->h_addr_list[1][3] : 0, 2);
    expect("gethostbyname", !gethostbyname("none.test") && h_errno == HOST_NOT_FOUND, 1);
}

static void by_file(void)
{
    resolves("printer", 0, "9", "printer.office");
    resolves("printer.office", 0, "9", "printer.office");
    resolves("PRINTER", 0, "9", "printer.office");
    struct sockaddr_in of = {.sin_family = AF_INET, .sin_port = htons(2401), .sin_addr = {htonl(0x0a000009)}};
    char host[NI_MAXHOST], service[NI_MAXSERV];
    expect("getnameinfo", getnameinfo((void *)&of, sizeof of, host, sizeof host, service, sizeof service, 0), 0);
    expect_text("getnameinfo", host, "printer.office");
    expect_text("getnameinfo", service, "cvspserver");
    expect("getnameinfo",
           getnameinfo((void *)&of, sizeof of, host, sizeof host, service, sizeof service,
                       NI_NUMERICHOST | NI_NUMERICSERV),
           0);
    expect_text("getnameinfo", host, "10.0.0.9");
    expect_text("getnameinfo", service, "2401");
    struct servent *known = getservbyname("cvspserver", "tcp");
    expect("getservbyname", known ? ntohs(known->s_port) : 0, 2401);
    expect("getservbyname", !!getservbyname("cvspserver", "udp"), 0);
    struct protoent *protocol = getprotobyname("udp");
    expect("getprotobyname", protocol ? protocol->p_proto : 0, IPPROTO_UDP);
}

static void by_number(void)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *all = 0;
    unsigned kinds = 0;
    expect("numbers", getaddrinfo("10.0.0.7", "53", &hints, &all), 0);
    for (struct addrinfo *one = all; one; one = one->ai_next)
        kinds += one->ai_socktype == SOCK_STREAM ? 1 : one->ai_socktype == SOCK_DGRAM ? 16 : 256;
    expect("streams and datagrams", kinds, 17);
    freeaddrinfo(all);
    struct in_addr address;
    char text[INET_ADDRSTRLEN];
    expect("inet_pton", inet_pton(AF_INET, "10.0.0.256", &address), 0);
    expect("inet_pton", inet_pton(AF_INET, "10.1.2.3", &address), 1);
    expect_text("inet_ntop", inet_ntop(AF_INET, &address, text, sizeof text), "10.1.2.3");
    expect("inet_ntop", !inet_ntop(AF_INET, &address, text, 8), 1);
    expect("IPv6", socket(AF_INET6, SOCK_STREAM, 0), -1);
}

int main(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(53), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(fd, (struct sockaddr *)&at, sizeof at)) {
        perror("resolver: port 53");
        return 1;
    }
    pid_t server = fork();
    if (!server)
        serve(fd);
    close(fd);
    by_number();
    by_file();
    by_server();
    expect("the server", waitpid(server, 0, WNOHANG), 0);
    kill(server, SIGKILL);
    waitpid(server, 0, 0);
    printf("@resolver wrong=%u\n", wrong);
    return wrong > 0;
}
