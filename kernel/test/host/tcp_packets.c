/*
 * TCP by packet scripts (packets/README.md): frames in, frames out with their times, and what calls return, for each
 * script with sequence numbers that begin at several places. Sources: net/mbuf.c net/net.c net/arp.c net/ip.c
 * net/ip_reassembly.c net/icmp.c net/loop.c net/datagram.c net/udp.c net/in_cksum.c net/ether_output.c net/in_pcb.c
 * net/socket.c net/sockbuf.c net/urgent.c net/pair.c net/direct.c net/socket_options.c net/tcp_input.c
 * net/tcp_options.c net/tcp_sack.c net/tcp_output.c net/tcp_timer.c net/tcp_usrreq.c lock/simple_lock.c net/waiting.c
 * lib/bootargs.c lib/printf.c
 * net/route.c net/ip_options.c.
 * Options: ZONE_DEBUG=0 TCPIP_FILE="net/policy/connection.h"
 */
#include "test/host/tcp_world.h"

#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>

#define FOLDER "test/host/packets"
#define KERNEL_PORT 7
#define TS_MS(ticks) ((uint32_t)((uint64_t)(ticks) * (1u << TCP_TIME_SHIFT) / MS_CYCLES))

static struct {
    const char *name;
    unsigned line;
    uint32_t began, before; /* the script's; its last event's */
    uint32_t iss, irs, clock; /* the first numbers of the kernel and the peer; of the kernel's timestamps */
    bool has_iss, has_clock;
    uint16_t kernel, peer;
    int fd[16];
    uint32_t wrote, has_read; /* bytes of the stream */
} script;

_Noreturn static void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn static void wrong(const char *format, ...)
{
    char text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    host_failed(script.name, (int)script.line, "first number %08x, at %u ms: %s", (unsigned)script.irs,
                (unsigned)(now - script.began), text);
}

/* Words ------------------------------------------------------------------------------------------------------------ */

/* The next word of a line: a name or number, or one character. */
static const char *word(const char **at)
{
    static char found[80];
    unsigned n = 0;
    while (isspace((unsigned char)**at))
        (*at)++;
    while (isalnum((unsigned char)**at) || **at == '_' || **at == '.')
        found[n++] = *(*at)++;
    if (!n && **at)
        found[n++] = *(*at)++;
    found[n] = 0;
    return found;
}

static bool next_is(const char **at, const char *what)
{
    const char *before = *at;
    if (!strcmp(word(at), what))
        return true;
    *at = before;
    return false;
}

static void need(const char **at, const char *what)
{
    if (!next_is(at, what))
        wrong("\"%s\" is missing before: %s", what, *at);
}

static uint32_t number(const char **at)
{
    bool minus = next_is(at, "-");
    const char *text = word(at);
    char *end;
    uint32_t n = (uint32_t)strtoul(text, &end, 0);
    if (end == text || *end)
        wrong("no number: %s", text);
    return minus ? 0 - n : n;
}

static uint32_t milliseconds(const char **at)
{
    char *end;
    double s = strtod(*at, &end);
    if (end == *at)
        wrong("no time: %s", *at);
    *at = end;
    return (uint32_t)(s * 1000 + 0.5);
}

/* Segments --------------------------------------------------------------------------------------------------------- */

static uint32_t flags_of_word(const char **at)
{
    static const char letters[] = "FSRP.U";
    uint32_t flags = 0;
    for (const char *w = word(at); *w; w++) {
        const char *letter = strchr(letters, *w);
        if (!letter)
            wrong("no flags: %s", w);
        flags |= 1u << (letter - letters);
    }
    return flags;
}

static uint32_t to_kernel(uint32_t relative)
{
    return relative + script.irs;
}

static uint32_t to_peer(uint32_t relative)
{
    return relative + script.iss;
}

static void put(struct seg *s, uint32_t value, unsigned bytes)
{
    while (bytes--) {
        if (s->option_bytes == TCP_OPTIONS_MOST)
            wrong("more than %u bytes of options", TCP_OPTIONS_MOST);
        s->option[s->option_bytes++] = (uint8_t)(value >> 8 * bytes);
    }
}

static void times_option(const char **at, struct seg *s, bool sent)
{
    need(at, "val");
    uint32_t val = number(at);
    need(at, "ecr");
    uint32_t ecr = number(at);
    put(s, 8 << 8 | 10, 2);
    if (!sent) { /* the kernel's own are milliseconds in a script */
        put(s, val, 4);
        put(s, ecr ? script.clock + (uint32_t)(((uint64_t)ecr * MS_CYCLES) >> TCP_TIME_SHIFT) : 0, 4);
    } else {
        put(s, val, 4);
        put(s, ecr, 4);
    }
}

static void sack_option(const char **at, struct seg *s, bool sent)
{
    uint8_t *length = &s->option[s->option_bytes + 1];
    put(s, 5 << 8, 2);
    while (isspace((unsigned char)**at))
        ++*at;
    for (; isdigit((unsigned char)**at) || **at == '-'; *at += **at == ' ') {
        uint32_t first = number(at);
        need(at, ":");
        uint32_t end = number(at);
        put(s, sent ? to_kernel(first) : to_peer(first), 4);
        put(s, sent ? to_kernel(end) : to_peer(end), 4);
    }
    *length = (uint8_t)(s->option + s->option_bytes - (length - 1));
}

/* The options between < and >; `sent`: by the kernel. */
static void options_of(const char **at, struct seg *s, bool sent)
{
    while (!next_is(at, ">")) {
        if (next_is(at, "mss"))
            put(s, 2 << 8 | 4, 2), put(s, number(at), 2);
        else if (next_is(at, "wscale"))
            put(s, 3 << 8 | 3, 2), put(s, number(at), 1);
        else if (next_is(at, "sackOK"))
            put(s, 4 << 8 | 2, 2);
        else if (next_is(at, "nop"))
            put(s, 1, 1);
        else if (next_is(at, "eol"))
            put(s, 0, 1);
        else if (next_is(at, "TS"))
            times_option(at, s, sent);
        else if (next_is(at, "sack"))
            sack_option(at, s, sent);
        else if (next_is(at, "byte"))
            put(s, number(at), 1);
        else
            wrong("no option: %s", *at);
        next_is(at, ",");
    }
}

struct spoken {
    struct seg s;
    bool has_window, any_options;
};

static struct spoken segment_of(const char **at, bool sent)
{
    struct spoken p = {.s = {.kernel = script.kernel, .peer = script.peer, .window = 65535}};
    p.s.flags = flags_of_word(at);
    p.s.seq = number(at);
    need(at, ":");
    uint32_t end = number(at);
    need(at, "(");
    p.s.length = number(at);
    need(at, ")");
    if (end - p.s.seq != p.s.length)
        wrong("the range has not %u bytes", (unsigned)p.s.length);
    if (p.s.length > MSS)
        wrong("more than %u bytes", MSS);
    if (next_is(at, "ack"))
        p.s.ack = number(at);
    p.has_window = next_is(at, "win");
    if (p.has_window)
        p.s.window = number(at);
    if (next_is(at, "urg"))
        p.s.urgent = (uint16_t)number(at);
    if (next_is(at, "<")) {
        p.any_options = next_is(at, "...");
        if (p.any_options)
            need(at, ">");
        else
            options_of(at, &p.s, sent);
    }
    return p;
}

static void say_segment(const char **at)
{
    struct seg s = segment_of(at, false).s;
    for (uint32_t i = 0; i < s.length; i++)
        s.data[i] = (uint8_t)((s.seq + i) * 7);
    s.seq = to_kernel(s.seq);
    s.ack = s.flags & A ? to_peer(s.ack) : 0;
    while (s.option_bytes % 4)
        put(&s, 0, 1);
    input(&s);
}

/* A router's message about a kernel's segment, by type and code: `icmp 3 4 mtu 1006 seq 1`. */
static void say_icmp(const char **at)
{
    uint32_t type = number(at), code = number(at), mtu = next_is(at, "mtu") ? number(at) : 0;
    need(at, "seq");
    const struct seg about = {.kernel = script.kernel,
                              .peer = script.peer,
                              .seq = to_peer(number(at)),
                              .length = IP_MTU - IP_HEADER - TCP_HEADER};
    input_icmp(type, code, mtu, &about, IP_HEADER + 8);
}

/* The kernel's own timestamps become milliseconds since its first. */
static void relate_times(struct seg *s)
{
    for (uint32_t at = 0; at < s->option_bytes; at += s->option[at] == 1 ? 1 : s->option[at + 1]) {
        if (s->option[at] != 8)
            continue;
        uint32_t val = get32(s->option + at + 2);
        if (!script.has_clock)
            script.clock = val;
        script.has_clock = true;
        put32(s->option + at + 2, TS_MS(val - script.clock));
    }
}

/* Whether they are alike, up to 2 ms of the kernel's own time. */
static bool same_options(struct seg *is, struct seg *should)
{
    if (is->option_bytes != should->option_bytes)
        return false;
    for (uint32_t at = 0; at < is->option_bytes; at++)
        if (is->option[at] == 8 && should->option[at] == 8 && at + 10 <= is->option_bytes) {
            if (get32(is->option + at + 2) - get32(should->option + at + 2) + 2 > 4)
                return false;
            put32(is->option + at + 2, 0);
            put32(should->option + at + 2, 0);
            at += 1;
        }
    return !memcmp(is->option, should->option, is->option_bytes);
}

static const char *shown(const struct seg *s)
{
    static char text[300];
    int n = snprintf(text, sizeof text, "flags %x %u(%u) ack %u win %u urg %u at %u ms <", (unsigned)s->flags,
                     (unsigned)(s->seq - script.iss), (unsigned)s->length, (unsigned)(s->ack - script.irs),
                     (unsigned)s->window, s->urgent, (unsigned)(s->at - script.began));
    for (unsigned i = 0; i < s->option_bytes; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %02x", s->option[i]);
    return text;
}

static void nothing_is_sent(void)
{
    if (log_first != log_end)
        wrong("nobody expects what is sent: %s", shown(&logged[log_first % LOGGED]));
}

/* The next segment, between two times. */
static void expect_segment(const char **at, uint32_t from, uint32_t to)
{
    while (log_first == log_end && (int32_t)(now - to) < 0) {
        uint32_t step = 100 - now % 100;
        advance(step < to - now ? step : to - now);
    }
    if (log_first == log_end)
        wrong("nothing is sent");
    struct seg is = logged[log_first++ % LOGGED];
    if (!script.has_iss && is.flags & S) {
        script.iss = is.seq;
        script.kernel = is.kernel;
        script.has_iss = true;
    }
    struct spoken should = segment_of(at, true);
    relate_times(&is);
    if (is.at - from > to - from)
        wrong("too early or too late: %s", shown(&is));
    if (is.flags != should.s.flags || is.seq != to_peer(should.s.seq) || is.length != should.s.length ||
        (is.flags & A && is.ack != to_kernel(should.s.ack)) || (should.has_window && is.window != should.s.window) ||
        is.urgent != should.s.urgent)
        if (!(is.flags & R && !(is.flags & A) && is.seq == should.s.seq)) /* of a reset: as acknowledged */
            wrong("sent: %s", shown(&is));
    if (!should.any_options && !same_options(&is, &should.s))
        wrong("sent with other options: %s", shown(&is));
    for (uint32_t i = 0; i < is.length; i++)
        if (is.data[i] != (uint8_t)((is.seq - script.iss + i) * 3))
            wrong("byte %u of what is sent is wrong: %s", (unsigned)i, shown(&is));
    script.before = is.at;
}

/* Calls ------------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int value;
} names[] = {{"SOCK_STREAM", USER_SOCK_STREAM},
             {"SHUT_RD", USER_SHUT_RD},
             {"SHUT_WR", USER_SHUT_WR},
             {"SHUT_RDWR", USER_SHUT_RDWR},
             {"SOL_SOCKET", USER_SOL_SOCKET},
             {"SO_RCVBUF", USER_SO_RCVBUF},
             {"SO_SNDBUF", USER_SO_SNDBUF},
             {"SO_KEEPALIVE", USER_SO_KEEPALIVE},
             {"SO_ERROR", USER_SO_ERROR},
             {"SO_LINGER", USER_SO_LINGER},
             {"SO_RCVLOWAT", USER_SO_RCVLOWAT},
             {"IPPROTO_TCP", IPPROTO_TCP},
             {"TCP_NODELAY", USER_TCP_NODELAY},
             {"TCP_KEEPIDLE", USER_TCP_KEEPIDLE},
             {"TCP_KEEPINTVL", USER_TCP_KEEPINTVL},
             {"TCP_KEEPCNT", USER_TCP_KEEPCNT},
             {"TCP_MAXSEG", USER_TCP_MAXSEG},
             {"SO_OOBINLINE", USER_SO_OOBINLINE},
             {"MSG_OOB", USER_MSG_OOB},
             {"MSG_PEEK", USER_MSG_PEEK},
             {"FIONREAD", (int)USER_FIONREAD},
             {"SIOCATMARK", (int)USER_SIOCATMARK},
             {"POLLIN", USER_POLLIN},
             {"POLLPRI", USER_POLLPRI},
             {"POLLOUT", USER_POLLOUT},
             {"POLLERR", USER_POLLERR},
             {"POLLHUP", USER_POLLHUP},
             {"EAGAIN", EAGAIN},
             {"EINVAL", EINVAL},
             {"EINPROGRESS", EINPROGRESS},
             {"ECONNREFUSED", ECONNREFUSED},
             {"ECONNRESET", ECONNRESET},
             {"ECONNABORTED", ECONNABORTED},
             {"ETIMEDOUT", ETIMEDOUT},
             {"EHOSTUNREACH", EHOSTUNREACH},
             {"ENOTCONN", ENOTCONN},
             {"EISCONN", EISCONN},
             {"EPIPE", EPIPE}};

static int value(const char **at)
{
    const char *before = *at, *w = word(at);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, w))
            return names[i].value;
    *at = before;
    return (int)number(at);
}

struct arguments {
    int a[6]; /* numbers; "..." is 0 */
    unsigned count;
};

static struct arguments arguments_of(const char **at)
{
    struct arguments args = {.count = 0};
    need(at, "(");
    while (!next_is(at, ")")) {
        bool bracket = next_is(at, "[");
        if (next_is(at, "..."))
            args.a[args.count++] = 0;
        else
            for (args.a[args.count++] = value(at); next_is(at, "|");)
                args.a[args.count - 1] |= value(at);
        if (bracket)
            need(at, "]");
        next_is(at, ",");
    }
    return args;
}

static int fd_of(int number_of)
{
    if (number_of < 0 || number_of >= 16 || script.fd[number_of] < 0)
        wrong("no such descriptor: %d", number_of);
    return script.fd[number_of];
}

static int send_some(int fd, int n, int flags)
{
    for (int i = 0; i < n; i++)
        user[USER_DATA + i] = (uint8_t)((script.wrote + 1 + (uint32_t)i) * 3);
    int done = flags ? CALL(sys_sendto, (uint32_t)fd, USER_AT + USER_DATA, (uint32_t)n, (uint32_t)flags)
                     : k_write(fd, (uint32_t)n);
    script.wrote += done > 0 ? (uint32_t)done : 0;
    return done;
}

/* An urgent byte, if it is received by itself, is not among those read. */
static int receive_some(int fd, int n, int flags)
{
    int done = flags ? CALL(sys_recvfrom, (uint32_t)fd, USER_AT + USER_DATA, (uint32_t)n, (uint32_t)flags)
                     : k_read(fd, (uint32_t)n);
    if (flags & USER_MSG_OOB)
        return done;
    for (int i = 0; i < done; i++)
        if (user[USER_DATA + i] != (uint8_t)((script.has_read + 1 + (uint32_t)i) * 7))
            wrong("byte %d that was read is wrong", i);
    script.has_read += done > 0 && !flags ? (uint32_t)done : 0;
    return done;
}

static int io_number(int fd, int request)
{
    struct file *f = descriptor_file(0, (uint32_t)fd);
    int is, error = f ? socket_ops.ioctl(f, 0, (uint32_t)request, USER_AT + 16) : -EBADF;
    file_release(f);
    memcpy(&is, user + 16, sizeof is);
    return checked(error) ? error : is;
}

static int option_set(int fd, const int *a)
{
    struct user_linger linger = {1, a[2]}; /* of SO_LINGER the time */
    bool lingers = a[1] == USER_SO_LINGER;
    memcpy(user + 16, lingers ? (const void *)&linger : &a[2], lingers ? sizeof linger : sizeof a[2]);
    return CALL(sys_setsockopt, (uint32_t)fd, (uint32_t)a[0], (uint32_t)a[1], USER_AT + 16,
                lingers ? sizeof linger : sizeof(int));
}

static int option_is(int fd, const int *a)
{
    uint32_t length = sizeof(int);
    memcpy(user, &length, sizeof length);
    int error = CALL(sys_getsockopt, (uint32_t)fd, (uint32_t)a[0], (uint32_t)a[1], USER_AT + 16, USER_AT);
    int is;
    memcpy(&is, user + 16, sizeof is);
    return error ? error : is;
}

static int done_by(const char *name, const struct arguments *args, bool *opens)
{
    const int *a = args->a;
    *opens = !strcmp(name, "socket") || !strcmp(name, "accept");
    if (!strcmp(name, "socket"))
        return k_socket();
    if (!strcmp(name, "skip")) { /* hours of the clock, in which no timer runs */
        cycles_base += (uint64_t)(uint32_t)a[0] * 3600 * 1000 * MS_CYCLES;
        return 0;
    }
    int fd = fd_of(a[0]);
    if (!strcmp(name, "bind"))
        return CALL(sys_bind, (uint32_t)fd, address(0, KERNEL_PORT), sizeof(struct user_sockaddr_in));
    if (!strcmp(name, "listen"))
        return CALL(sys_listen, (uint32_t)fd, (uint32_t)a[1]);
    if (!strcmp(name, "accept"))
        return k_accept(fd);
    if (!strcmp(name, "connect"))
        return k_connect(fd, script.peer);
    if (!strcmp(name, "write"))
        return send_some(fd, a[2], 0);
    if (!strcmp(name, "send"))
        return send_some(fd, a[2], a[3]);
    if (!strcmp(name, "read"))
        return receive_some(fd, a[2], 0);
    if (!strcmp(name, "recv"))
        return receive_some(fd, a[2], a[3]);
    if (!strcmp(name, "passes")) { /* bytes of the stream that are not read */
        script.has_read += (uint32_t)a[1];
        return 0;
    }
    if (!strcmp(name, "ioctl"))
        return io_number(fd, a[1]);
    if (!strcmp(name, "shutdown"))
        return k_shutdown(fd, (uint32_t)a[1]);
    if (!strcmp(name, "setsockopt"))
        return option_set(fd, a + 1);
    if (!strcmp(name, "getsockopt"))
        return option_is(fd, a + 1);
    if (!strcmp(name, "poll"))
        return k_poll(fd);
    if (!strcmp(name, "close")) {
        script.fd[a[0]] = -1;
        return k_close(fd);
    }
    wrong("no such call: %s", name);
}

static void call(const char **at)
{
    char name[80];
    strcpy(name, word(at));
    struct arguments args = arguments_of(at);
    need(at, "=");
    int should = 0;
    if (next_is(at, "-")) { /* -1 NAME, as packetdrill has it, or -NAME */
        next_is(at, "1");
        should = -value(at);
    } else {
        do
            should |= value(at);
        while (next_is(at, "|"));
    }
    bool opens;
    int is = done_by(name, &args, &opens);
    if (opens && is >= 0 && should >= 0 && should < 16)
        script.fd[should] = is;
    else if (is != should)
        wrong("%s returns %d, not %d", name, is, should);
}

/* Scripts ---------------------------------------------------------------------------------------------------------- */

static void event(const char *at)
{
    bool relative = next_is(&at, "+");
    while (isspace((unsigned char)*at))
        at++;
    uint32_t from = (relative ? script.before : script.began) + milliseconds(&at), to = from;
    if (next_is(&at, "~")) {
        next_is(&at, "+");
        to = (relative ? script.before : script.began) + milliseconds(&at);
    }
    if (next_is(&at, ">")) {
        expect_segment(&at, from, to);
    } else {
        for (nothing_is_sent(); now != from; nothing_is_sent()) {
            if ((int32_t)(from - now) < 0)
                wrong("that time is over");
            uint32_t step = 100 - now % 100;
            advance(step < from - now ? step : from - now);
        }
        script.before = now;
        if (next_is(&at, "<")) {
            if (next_is(&at, "icmp"))
                say_icmp(&at);
            else
                say_segment(&at);
        } else {
            call(&at);
        }
    }
    if (*word(&at))
        wrong("more than it understands: %s", at);
}

/* The user closes the socket, and the peer resets whatever is still sent. */
static void script_ends(void)
{
    nothing_is_sent();
    for (int fd = 0; fd < FILES; fd++)
        if (files[fd])
            k_close(fd);
    for (unsigned seconds = 0; seconds < 3600 && objects; seconds++, advance(1000))
        while (log_first != log_end) {
            const struct seg *last = &logged[log_first++ % LOGGED];
            struct seg reset = {.flags = R, .seq = last->ack, .kernel = last->kernel, .peer = last->peer};
            if (last->flags & A && !(last->flags & R))
                input(&reset);
        }
    log_first = log_end;
    all_has_gone();
}

static void run_script(const char *name, const char *text, uint32_t first)
{
    static uint16_t peer = 4000;
    begin();
    script = (typeof(script)){.name = name, .began = now, .before = now, .irs = first, .kernel = KERNEL_PORT};
    script.peer = peer++;
    for (unsigned i = 0; i < 16; i++)
        script.fd[i] = -1;
    struct inpcb of = {.laddr = OUR_IP, .faddr = PEER_IP, .lport = KERNEL_PORT, .fport = script.peer};
    cycles_base = 0; /* the kernel's first number is close to the peer's, if it listens or is bound to its port */
    cycles_base = ((uint64_t)(first + 5 - in_pcb_hash(&of, 0)) << 8) - (uint64_t)now * MS_CYCLES;
    while (*text) {
        char line[400];
        size_t n = strcspn(text, "\n");
        CHECK(n < sizeof line);
        memcpy(line, text, n);
        line[n] = 0;
        text += n + !!text[n];
        script.line++;
        char *comment = strstr(line, "//");
        if (comment)
            *comment = 0;
        if (line[strspn(line, " \t")])
            event(line);
    }
    script_ends();
}

HOST_TEST(packets_go_and_come_as_the_scripts_say)
{
    static const uint32_t FIRST[] = {1000, 0xffffffff, 0xfffffa00, 0x7ffffff8};
    const char *only = getenv("PACKETS");
    struct dirent **found;
    int count = scandir(FOLDER, &found, 0, alphasort);
    unsigned run = 0;
    for (int i = 0; i < count; i++) {
        const char *name = found[i]->d_name;
        char path[300], text[20000];
        if (strlen(name) > 4 && !strcmp(name + strlen(name) - 4, ".pkt") && (!only || strstr(name, only))) {
            snprintf(path, sizeof path, FOLDER "/%s", name);
            FILE *f = fopen(path, "r");
            CHECK(f);
            size_t n = fread(text, 1, sizeof text, f);
            CHECK(n < sizeof text);
            text[n] = 0;
            fclose(f);
            for (unsigned start = 0; start < sizeof FIRST / sizeof *FIRST; start++)
                run_script(path, text, FIRST[start]);
            run++;
        }
        free(found[i]);
    }
    free(found);
    CHECK(run);
}
