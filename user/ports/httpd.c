/*
 * httpd: an HTTP/1.1 server (RFC 9110, 9112) of the files below a folder: GET and HEAD. llhttp takes requests apart.
 *
 *   httpd [-p PORT] [-w WORKERS] [-t SECONDS] FOLDER
 *
 * As in Apache 1.1, WORKERS processes (8) accept connections at one socket, and each serves one at a time. A client has
 * SECONDS (10) for each request, and as many to receive some of the answer. PORT (80) 0: any free one. It prints the
 * port when it listens; SIGTERM and SIGINT end it, and then it prints
 *
 *   @httpd workers=... connections=... requests=... bytes=... refused=... died=...
 *
 * bytes: of files; refused: answers of 400 and more; died: workers that a signal ended, each replaced by another.
 *
 * Paths are resolved below FOLDER: `..` above it is 400. Symbolic links are followed. A folder's name gives its
 * index.html. There are no dates, as the machine's clock begins with its reset.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "llhttp.h"

#define WORKERS_MOST 256
#define INPUT 4096
#define OUTPUT 8192
#define URL_MOST 2048
#define HEAD_MOST 8192   /* bytes of a request's fields: 431 beyond */
#define BODY_MOST 65536u /* of a request, which is not used: 413 beyond */
#define WHOLE_MOST (HEAD_MOST + 2 * BODY_MOST) /* with all that is between: 413 */
#define LINGER_MS 1000
#define INDEX "index.html"
#define ALLOWED "Allow: GET, HEAD\r\n"

struct counts {
    unsigned long connections, requests, refused;
    unsigned long long bytes;
};

/* A request, as far as received. */
struct request {
    char url[URL_MOST + 1], name[16], value[32]; /* of a field: the first of its characters */
    unsigned url_length, name_length, value_length, hosts, head, body;
    int status;     /* its error status, or 0 */
    int begun;      /* part of it is received, */
    int has_head;   /* all of its fields, */
    int wants_100;  /* and its body waits for an interim answer */
    int keeps, head_only;
};

static struct {
    int fd, sends_at_once;
    llhttp_t parser;
    struct request request;
} c; /* the connection of this worker */
static struct counts *counts; /* one for each worker, in memory that all share */
static struct counts *own;
static int milliseconds = 10000;
static char input[INPUT], output[OUTPUT];

static const struct {
    int status;
    const char *reason;
} reasons[] = {{200, "OK"},
               {301, "Moved Permanently"},
               {400, "Bad Request"},
               {403, "Forbidden"},
               {404, "Not Found"},
               {405, "Method Not Allowed"},
               {408, "Request Timeout"},
               {413, "Content Too Large"},
               {414, "URI Too Long"},
               {417, "Expectation Failed"},
               {431, "Request Header Fields Too Large"},
               {500, "Internal Server Error"},
               {501, "Not Implemented"},
               {503, "Service Unavailable"},
               {505, "HTTP Version Not Supported"}};

static const struct {
    const char *end, *type;
} types[] = {{".html", "text/html"}, {".txt", "text/plain"}, {".css", "text/css"},          {".js", "text/javascript"},
             {".png", "image/png"},  {".jpg", "image/jpeg"}, {".json", "application/json"}, {".svg", "image/svg+xml"}};

static const char *reason_of(int status)
{
    for (unsigned i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "";
}

static const char *type_of(const char *path)
{
    size_t length = strlen(path);
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
        size_t end = strlen(types[i].end);
        if (length > end && !strcasecmp(path + length - end, types[i].end))
            return types[i].type;
    }
    return "application/octet-stream";
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether the connection can be read, or written, before `end`. */
static int ready(short events, long end)
{
    struct pollfd of = {.fd = c.fd, .events = events};
    for (;;) {
        long left = end - now_ms();
        int n = left > 0 ? poll(&of, 1, (int)left) : 0;
        if (n >= 0 || errno != EINTR)
            return n > 0;
    }
}

static int send_all(const char *from, size_t length)
{
    while (length) {
        ssize_t n = write(c.fd, from, length);
        if (n < 0 && errno == EAGAIN) {
            if (!ready(POLLOUT, now_ms() + milliseconds))
                return 0;
        } else if (n < 0 && errno != EINTR) {
            return 0;
        } else if (n > 0) {
            from += n;
            length -= (size_t)n;
        }
    }
    return 1;
}

/* The path below the folder that `url` names: `path` has at least its length and 2. 0, or a status. */
static int path_of(const char *url, char *path)
{
    if (*url != '/') { /* absolute-form (RFC 9112, 3.2.2) */
        const char *authority = strstr(url, "://");
        if (!authority)
            return 400;
        url = authority + 3 + strcspn(authority + 3, "/?#");
    }
    char *to = path;
    *to++ = '.';
    for (size_t length = strcspn(url, "?#"), at = 0; at < length;) { /* at the slash before each part */
        char *begin = to;
        *to++ = '/';
        for (at++; at < length && url[at] != '/'; at++) {
            if (url[at] != '%') {
                *to++ = url[at];
                continue;
            }
            char digits[3] = {url[at + 1], at + 2 < length ? url[at + 2] : 0}, *end;
            if (!strchr("0123456789abcdefABCDEF", digits[0]) || !digits[1])
                return 400;
            long code = strtol(digits, &end, 16);
            if (*end || !code || code == '/') /* an escaped slash: no file has it in its name */
                return 400;
            *to++ = (char)code;
            at += 2;
        }
        size_t part = (size_t)(to - begin - 1);
        if (!part || (part == 1 && begin[1] == '.')) {
            to = begin;
        } else if (part == 2 && begin[1] == '.' && begin[2] == '.') {
            if (begin == path + 1)
                return 400; /* above the folder */
            for (to = begin - 1; *to != '/'; to--)
                ;
        }
        if (at >= length && (to == begin || to < begin)) /* the last part is a folder's name */
            *to++ = '/';
    }
    if (to == path + 1)
        *to++ = '/';
    *to = 0;
    return 0;
}

static int status_of_error(void)
{
    switch (errno) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case ENXIO: return 404;
    case EACCES:
    case EPERM: return 403;
    case EMFILE:
    case ENFILE:
    case ENOMEM: return 503;
    default: return 500;
    }
}

static const char *connection_field(void)
{
    return c.request.keeps ? "keep-alive" : "close";
}

/* An answer without a file: returns whether the connection stays open. */
static int answer_status(int status, const char *more)
{
    char text[64];
    const char *reason = reason_of(status);
    own->refused += status >= 400;
    int body = snprintf(text, sizeof text, "%d %s\n", status, reason);
    int n = snprintf(output, sizeof output,
                     "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: %s\r\n%s\r\n%s",
                     status, reason, body, connection_field(), more, c.request.head_only ? "" : text);
    return send_all(output, (size_t)n) && c.request.keeps;
}

static int answer_folder(void)
{
    const char *path = c.request.url;
    if (*path != '/')
        path = strchr(strstr(path, "://") + 3, '/');
    while (path[1] == '/') /* else the part after two slashes would be a host */
        path++;
    char field[URL_MOST + 32];
    size_t length = strcspn(path, "?#");
    snprintf(field, sizeof field, "Location: %.*s/%.*s\r\n", (int)length, path, (int)strcspn(path + length, "#"),
             path + length);
    return answer_status(301, field);
}

/* The file at `path`, open as `fd`. */
static int answer_file(const char *path, int fd, off_t size)
{
    unsigned long long left = (unsigned long long)size;
    size_t filled = (size_t)snprintf(output, sizeof output,
                                     "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %llu\r\n"
                                     "Connection: %s\r\n\r\n",
                                     type_of(path), left, connection_field());
    for (left = c.request.head_only ? 0 : left;;) { /* the head goes with the first of the file */
        size_t room = sizeof output - filled, most = left < room ? (size_t)left : room;
        ssize_t n = most ? read(fd, output + filled, most) : 0;
        if (n < 0 || (most && !n)) /* the file was truncated: the client sees that the rest is missing */
            return 0;
        own->bytes += (unsigned long long)n; /* before the client has it: it may end this worker then */
        if (!send_all(output, filled + (size_t)n)) {
            own->bytes -= (unsigned long long)n;
            return 0;
        }
        left -= (unsigned long long)n;
        filled = 0;
        if (!left)
            return c.request.keeps;
    }
}

static int answer(void)
{
    static char path[URL_MOST + sizeof INDEX + 4];
    own->requests++;
    if (c.request.status)
        return answer_status(c.request.status, c.request.status == 405 ? ALLOWED : "");
    int status = path_of(c.request.url, path);
    if (status)
        return answer_status(status, "");
    int named = path[strlen(path) - 1] == '/'; /* as a folder */
    if (named)
        strcat(path, INDEX);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat of;
    if (fd < 0)
        return answer_status(status_of_error(), "");
    int goes_on = fstat(fd, &of)                  ? answer_status(500, "")
                  : S_ISREG(of.st_mode)           ? answer_file(path, fd, of.st_size)
                  : S_ISDIR(of.st_mode) && !named ? answer_folder()
                                                  : answer_status(404, "");
    close(fd);
    return goes_on;
}

/* llhttp's callbacks. A failing one ends the request. */

static int message_begins(llhttp_t *parser)
{
    (void)parser;
    memset(&c.request, 0, sizeof c.request);
    c.request.begun = 1;
    return 0;
}

static int fail(int status)
{
    c.request.status = status;
    return -1;
}

static int url_comes(llhttp_t *parser, const char *at, size_t length)
{
    (void)parser;
    if (length > URL_MOST - c.request.url_length)
        return fail(414);
    memcpy(c.request.url + c.request.url_length, at, length);
    c.request.url_length += (unsigned)length;
    return 0;
}

/* Another part of a field's name or value; only the first characters are kept. */
static int field_comes(char *to, unsigned *has, unsigned room, const char *at, size_t length)
{
    for (size_t i = 0; i < length && *has < room - 1; i++)
        to[(*has)++] = at[i];
    to[*has] = 0;
    c.request.head += (unsigned)length;
    return c.request.head > HEAD_MOST ? fail(431) : 0;
}

static int name_comes(llhttp_t *parser, const char *at, size_t length)
{
    (void)parser;
    return field_comes(c.request.name, &c.request.name_length, sizeof c.request.name, at, length);
}

static int value_comes(llhttp_t *parser, const char *at, size_t length)
{
    (void)parser;
    return field_comes(c.request.value, &c.request.value_length, sizeof c.request.value, at, length);
}

static int field_ends(llhttp_t *parser)
{
    (void)parser;
    c.request.head += 4; /* with what separates them */
    if (!strcasecmp(c.request.name, "host"))
        c.request.hosts++;
    if (!strcasecmp(c.request.name, "expect")) {
        if (strcasecmp(c.request.value, "100-continue"))
            return fail(417);
        c.request.wants_100 = 1;
    }
    c.request.name_length = c.request.value_length = 0;
    c.request.name[0] = c.request.value[0] = 0;
    return 0;
}

static int head_ends(llhttp_t *parser)
{
    c.request.has_head = 1;
    c.request.head_only = parser->method == HTTP_HEAD;
    if (parser->http_major != 1)
        return fail(505);
    if (c.request.hosts > 1 || (parser->http_minor && !c.request.hosts))
        return fail(400); /* RFC 9112, 3.2 */
    if (parser->content_length > BODY_MOST)
        return fail(413);
    parser->upgrade = 0; /* not supported, so the request is an ordinary one (RFC 9110, 7.8) */
    if (parser->method != HTTP_GET && parser->method != HTTP_HEAD)
        c.request.status = 405;
    else if (c.request.wants_100 && parser->http_minor && !send_all("HTTP/1.1 100 Continue\r\n\r\n", 25))
        return fail(408);
    if (c.request.wants_100 && c.request.status)
        return fail(c.request.status); /* and the body will not come */
    return 0;
}

static int body_comes(llhttp_t *parser, const char *at, size_t length)
{
    (void)parser;
    (void)at;
    c.request.body += (unsigned)length;
    return c.request.body > BODY_MOST ? fail(413) : 0;
}

static int message_ends(llhttp_t *parser)
{
    c.request.keeps = llhttp_should_keep_alive(parser);
    if (c.request.keeps && !c.sends_at_once) { /* else the end of an answer waits for earlier data's acknowledgement */
        int on = 1;
        c.sends_at_once = !setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return HPE_PAUSED;
}

static llhttp_settings_t settings;

static int status_of_parser(enum llhttp_errno error)
{
    return c.request.status               ? c.request.status
           : error == HPE_INVALID_METHOD  ? 501
           : error == HPE_INVALID_VERSION ? 505
                                          : 400;
}

/* No more requests: the answer says so. Further input is read, as closing with it unread would reset the connection
 * before the client has the answer. */
static void refuse(int status)
{
    c.request.keeps = 0;
    own->requests++;
    answer_status(status, status == 405 ? ALLOWED : "");
    if (shutdown(c.fd, SHUT_WR))
        return;
    long end = now_ms() + LINGER_MS;
    for (unsigned n = 0; n < 64 && ready(POLLIN, end) && read(c.fd, input, sizeof input) > 0; n++)
        ;
}

static void serve(void)
{
    size_t came = 0; /* bytes of the current request */
    long end = now_ms() + milliseconds;
    c.sends_at_once = 0;
    llhttp_init(&c.parser, HTTP_REQUEST, &settings);
    memset(&c.request, 0, sizeof c.request);
    for (;;) {
        int in_time = ready(POLLIN, end);
        ssize_t n = in_time ? read(c.fd, input, sizeof input) : 0;
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0) {
            if (c.request.begun && n == 0)
                refuse(in_time ? 400 : 408); /* the client may have closed its half only */
            return;
        }
        for (const char *at = input, *last = input + n; at < last;) {
            enum llhttp_errno error = llhttp_execute(&c.parser, at, (size_t)(last - at));
            if (error == HPE_OK) {
                came += (size_t)(last - at);
                if (came > WHOLE_MOST)
                    return refuse(413);
                break;
            }
            if (error != HPE_PAUSED)
                return refuse(status_of_parser(error));
            at = llhttp_get_error_pos(&c.parser);
            llhttp_resume(&c.parser);
            if (!answer())
                return;
            c.request.begun = c.request.has_head = 0;
            came = 0;
            end = now_ms() + milliseconds;
        }
    }
}

static void work(int listening)
{
    for (;;) {
        c.fd = accept(listening, 0, 0);
        if (c.fd < 0)
            continue;
        own->connections++;
        if (!fcntl(c.fd, F_SETFL, O_NONBLOCK))
            serve();
        close(c.fd);
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: httpd [-p PORT] [-w WORKERS, 1 to %d] [-t SECONDS, 1 to 3600] FOLDER\n", WORKERS_MOST);
    return 2;
}

static int failed(const char *what)
{
    fprintf(stderr, "httpd: %s: %s\n", what, strerror(errno));
    return 1;
}

/* A number of an option, or -1. */
static long number(const char *text, long least, long most)
{
    char *end;
    long n = strtol(text, &end, 10);
    return *end || end == text || n < least || n > most ? -1 : n;
}

static int listen_at(long port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
        bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, SOMAXCONN))
        return -1;
    return fd;
}

static pid_t start_worker(int listening, unsigned which, const sigset_t *mask)
{
    pid_t of = fork();
    if (of)
        return of;
    own = &counts[which];
    sigprocmask(SIG_SETMASK, mask, 0);
    work(listening);
    _exit(0);
}

static int print_port(int listening)
{
    struct sockaddr_in bound;
    socklen_t length = sizeof bound;
    if (getsockname(listening, (struct sockaddr *)&bound, &length))
        return failed("listening");
    printf("httpd: port %u\n", ntohs(bound.sin_port));
    return fflush(stdout) ? failed("output") : 0;
}

static int print_counts(long workers, unsigned long died)
{
    struct counts all = {0};
    for (long i = 0; i < workers; i++) {
        all.connections += counts[i].connections;
        all.requests += counts[i].requests;
        all.refused += counts[i].refused;
        all.bytes += counts[i].bytes;
    }
    printf("@httpd workers=%ld connections=%lu requests=%lu bytes=%llu refused=%lu died=%lu\n", workers,
           all.connections, all.requests, all.bytes, all.refused, died);
    return fflush(stdout) ? failed("output") : 0;
}

/* Runs until a signal ends it; `mask` is that of workers. */
static int keep_workers(int listening, long workers, const sigset_t *waited, const sigset_t *mask)
{
    static pid_t worker[WORKERS_MOST];
    unsigned long died = 0;
    int status = 0;
    for (unsigned i = 0; i < workers && !status; i++)
        if ((worker[i] = start_worker(listening, i, mask)) < 0)
            status = failed("a worker");
    for (int signal; !status && !sigwait(waited, &signal) && signal == SIGCHLD;)
        for (pid_t of; (of = waitpid(-1, 0, WNOHANG)) > 0; died++)
            for (unsigned i = 0; i < workers; i++)
                if (worker[i] == of)
                    worker[i] = start_worker(listening, i, mask);
    for (unsigned i = 0; i < workers; i++)
        if (worker[i] > 0)
            kill(worker[i], SIGTERM);
    while (wait(0) > 0)
        ;
    return status ? status : print_counts(workers, died);
}

static void prepare_parser(void)
{
    llhttp_settings_init(&settings);
    settings.on_message_begin = message_begins;
    settings.on_url = url_comes;
    settings.on_header_field = name_comes;
    settings.on_header_value = value_comes;
    settings.on_header_value_complete = field_ends;
    settings.on_headers_complete = head_ends;
    settings.on_body = body_comes;
    settings.on_message_complete = message_ends;
}

int main(int argc, char **argv)
{
    long port = 80, workers = 8, seconds = 10;
    for (int option; (option = getopt(argc, argv, "p:w:t:")) != -1;) {
        if (option == 'p')
            port = number(optarg, 0, 65535);
        else if (option == 'w')
            workers = number(optarg, 1, WORKERS_MOST);
        else if (option == 't')
            seconds = number(optarg, 1, 3600);
        else
            return usage();
    }
    if (port < 0 || workers < 0 || seconds < 0 || optind != argc - 1)
        return usage();
    milliseconds = (int)seconds * 1000;
    if (chdir(argv[optind]))
        return failed(argv[optind]);
    int listening = listen_at(port);
    if (listening < 0)
        return failed("listening");
    counts = mmap(0, (size_t)workers * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED)
        return failed("memory");
    sigset_t waited, before;
    sigemptyset(&waited);
    sigaddset(&waited, SIGTERM);
    sigaddset(&waited, SIGINT);
    sigaddset(&waited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &waited, &before);
    signal(SIGPIPE, SIG_IGN);
    prepare_parser();
    return print_port(listening) ? 1 : keep_workers(listening, workers, &waited, &before);
}
