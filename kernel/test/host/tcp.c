/*
 * TCP and its sockets: system calls above, segments below, both in simulated time. Scripts of segments; a peer that
 * is another TCP, with arithmetic of its own, over a wire that loses, repeats, reorders, delays and damages;
 * segments of any content; allocations that fail at any place. Sources: net/mbuf.c net/net.c net/arp.c net/ip.c
 * net/ip_reassembly.c net/icmp.c net/loop.c net/datagram.c net/udp.c net/in_cksum.c net/ether_output.c net/in_pcb.c
 * net/socket.c net/sockbuf.c net/urgent.c net/pair.c net/direct.c net/socket_options.c net/tcp_input.c
 * net/tcp_options.c net/tcp_sack.c net/tcp_output.c net/tcp_timer.c net/tcp_usrreq.c lock/simple_lock.c net/waiting.c
 * lib/bootargs.c lib/printf.c
 * net/route.c net/ip_options.c.
 * Options: ZONE_DEBUG=0 TCPIP_FILE="net/policy/connection.h" TCP_FEW=100
 */
#include "test/host/tcp_world.h"

static int k_option(int fd, uint32_t level, uint32_t name, int value)
{
    memcpy(user + 16, &value, sizeof value);
    return CALL(sys_setsockopt, (uint32_t)fd, level, name, USER_AT + 16, sizeof value);
}

static int k_option_is(int fd, uint32_t level, uint32_t name)
{
    uint32_t length = sizeof(int);
    int value;
    memcpy(user, &length, sizeof length);
    CHECK_EQUAL(CALL(sys_getsockopt, (uint32_t)fd, level, name, USER_AT + 16, USER_AT), 0);
    memcpy(&value, user + 16, sizeof value);
    return value;
}

static int k_listen(uint32_t port, uint32_t backlog)
{
    int fd = k_socket();
    if (fd < 0)
        return fd;
    int error = CALL(sys_bind, (uint32_t)fd, address(0, port), sizeof(struct user_sockaddr_in));
    if (!error)
        error = CALL(sys_listen, (uint32_t)fd, backlog);
    CHECK_EQUAL(error, 0);
    return fd;
}

static int k_error(int fd)
{
    uint32_t length = sizeof(int);
    memcpy(user, &length, sizeof length);
    CHECK_EQUAL(CALL(sys_getsockopt, (uint32_t)fd, USER_SOL_SOCKET, USER_SO_ERROR, USER_AT + 16, USER_AT), 0);
    int error;
    memcpy(&error, user + 16, sizeof error);
    return error;
}

static struct socket *socket_at(int fd)
{
    return files[fd]->data;
}

static struct tcpcb *tcb_at(int fd)
{
    return socket_at(fd)->tcb;
}

/* Scripts ---------------------------------------------------------------------------------------------------------- */

static struct seg last; /* what `expect` has found */

static void expect_(int line, uint32_t flags, uint32_t seq, uint32_t ack, uint32_t length)
{
    if (log_first == log_end)
        host_failed(__FILE__, line, "nothing is sent");
    last = logged[log_first++ % LOGGED];
    if ((last.flags & ~P) != flags || last.seq != seq || (flags & A && last.ack != ack) || last.length != length)
        host_failed(__FILE__, line, "sent: flags %x seq %x ack %x length %u; not %x %x %x %u", (unsigned)last.flags,
                    (unsigned)last.seq, (unsigned)last.ack, (unsigned)last.length, (unsigned)flags, (unsigned)seq,
                    (unsigned)ack, (unsigned)length);
}
#define EXPECT(flags, seq, ack, length) expect_(__LINE__, flags, seq, ack, length)

static void expect_nothing_(int line)
{
    if (log_first != log_end) {
        last = logged[log_first % LOGGED];
        host_failed(__FILE__, line, "sent: flags %x seq %x ack %x length %u at %u", (unsigned)last.flags,
                    (unsigned)last.seq, (unsigned)last.ack, (unsigned)last.length, (unsigned)last.at);
    }
}
#define EXPECT_NOTHING() expect_nothing_(__LINE__)

static uint32_t hash_meanwhile, hashed_meanwhile;

static uint32_t hash_of_one(void)
{
    return in_pcb_hash(&(struct inpcb){.laddr = OUR_IP, .faddr = PEER_IP, .lport = 7, .fport = 4000}, 0);
}

static void others_hash(void)
{
    now++;
    hash_meanwhile = hash_of_one();
    hashed_meanwhile++;
    now++;
}

HOST_TEST(the_secret_of_ports_and_first_numbers_is_one_from_the_first_on)
{
    uint32_t without = hash_of_one();
    begin();
    clock_is_read = others_hash;
    uint32_t hash = hash_of_one();
    CHECK(hash != without);
    clock_is_read = 0;
    CHECK(!hashed_meanwhile || hash_meanwhile == hash);
    now += 1000;
    CHECK_EQUAL(hash_of_one(), hash);
    in_pcb_start();
    CHECK(hash_of_one() != hash); /* another start, another secret */
}

/* One connection of a script: numbers are relative to the first ones of each side. */
static struct {
    uint32_t iss, irs; /* the kernel's, the peer's */
    uint16_t kernel, peer;
    uint32_t window;
    int listening, fd;
} c;

static void say(uint32_t flags, uint32_t seq, uint32_t ack, uint32_t length)
{
    struct seg s = {.flags = flags,
                    .seq = seq,
                    .ack = flags & A ? ack : 0,
                    .length = length,
                    .window = c.window,
                    .kernel = c.kernel,
                    .peer = c.peer,
                    .mss = flags & S ? MSS : 0};
    for (uint32_t i = 0; i < length; i++)
        s.data[i] = (uint8_t)((seq - c.irs + i) * 7);
    input(&s);
}
#define US(n) (c.iss + (n))
#define PEER(n) (c.irs + (n))

/* The kernel's first number of the next connection between these ports. */
static void aim_iss(uint32_t kernel, uint32_t peer, uint32_t iss)
{
    struct inpcb of = {.laddr = OUR_IP, .faddr = PEER_IP, .lport = (uint16_t)kernel, .fport = (uint16_t)peer};
    cycles_base = 0;
    cycles_base = ((uint64_t)(iss - in_pcb_hash(&of, 0)) << 8) - (uint64_t)now * MS_CYCLES;
}

/* A socket that has sent the peer a SYN. */
static void asks_peer(void)
{
    c.fd = k_socket();
    CHECK_EQUAL(CALL(sys_bind, (uint32_t)c.fd, address(0, c.kernel), sizeof(struct user_sockaddr_in)), 0);
    CHECK_EQUAL(k_connect(c.fd, c.peer), -EINPROGRESS);
    c.iss = logged[log_first % LOGGED].seq;
}

static uint32_t first_window = 65535;

static void prepare(uint32_t irs)
{
    begin();
    static uint16_t peer = 4000;
    c.irs = irs;
    c.window = first_window;
    c.peer = peer++;
    c.kernel = 7;
    c.listening = -1;
    aim_iss(c.kernel, c.peer, irs + 5);
}

/* Established, from the peer's side or from ours. */
static void established(uint32_t irs, bool passive)
{
    prepare(irs);
    if (passive) {
        c.listening = k_listen(7, 3);
        say(S, PEER(0), 0, 0);
        c.iss = logged[log_first % LOGGED].seq;
        EXPECT(S | A, US(0), PEER(1), 0);
        CHECK_EQUAL(last.mss, MSS);
        CHECK_EQUAL(k_accept(c.listening), -EAGAIN);
        say(A, PEER(1), US(1), 0);
        c.fd = k_accept(c.listening);
        CHECK(c.fd >= 0);
    } else {
        asks_peer();
        EXPECT(S, US(0), 0, 0);
        CHECK_EQUAL(k_connect(c.fd, c.peer), -EALREADY);
        say(S | A, PEER(0), US(1), 0);
        EXPECT(A, US(1), PEER(1), 0);
    }
    EXPECT_NOTHING();
}

static void close_all(void)
{
    for (int fd = 0; fd < FILES; fd++)
        if (files[fd])
            k_close(fd);
}

/* The user closes the socket, and the peer resets whatever is still sent. */
static void ended(void)
{
    close_all();
    for (unsigned seconds = 0; seconds < 3600 && objects; seconds++, advance(1000))
        while (log_first != log_end) {
            last = logged[log_first++ % LOGGED];
            struct seg reset = {.flags = R, .seq = last.ack, .kernel = last.kernel, .peer = last.peer};
            if (last.flags & A && !(last.flags & R))
                input(&reset);
        }
    log_first = log_end;
    all_has_gone();
}

static int state(void)
{
    return tcb_at(c.fd)->state;
}

/* With numbers that are small, that wrap within the first bytes or soon, and that change their sign. */
static const uint32_t STARTS[] = {1000, 0xffffffff, 0xfffffff0, 0xfffff000, 0x7ffffff8};
#define FOR_STARTS(passive_)                                                           \
    for (unsigned start_ = 0; start_ < 2 * (sizeof STARTS / sizeof *STARTS); start_++) \
        for (bool passive_ = start_ % 2, once_ = true; once_; once_ = false)
#define START STARTS[start_ / 2]

HOST_TEST(a_connection_begins_carries_bytes_both_ways_and_ends)
{
    FOR_STARTS(passive)
    {
        established(START, passive);
        for (uint32_t n = 0; n < 3000; n++)
            user[USER_DATA + n] = (uint8_t)(n * 3);
        CHECK_EQUAL(k_write(c.fd, 3000), 3000);
        EXPECT(A, US(1), PEER(1), 1460);
        CHECK(last.data[0] == 0 && last.data[1459] == (uint8_t)(1459 * 3));
        EXPECT(A, US(1461), PEER(1), 1460);
        EXPECT_NOTHING(); /* the rest is small, and segments are in flight */
        say(A, PEER(1), US(2921), 0);
        EXPECT(A, US(2921), PEER(1), 80);
        CHECK(last.flags & P);
        say(A, PEER(1), US(3001), 0);
        say(A, PEER(1), US(3001), 100);
        EXPECT_NOTHING();
        say(A, PEER(101), US(3001), 100);
        EXPECT(A, US(3001), PEER(201), 0); /* every other segment at once */
        say(A, PEER(201), US(3001), 10);
        EXPECT_NOTHING();
        advance(FAST_MS);
        EXPECT(A, US(3001), PEER(211), 0);
        CHECK_EQUAL(k_read(c.fd, 1000), 210);
        for (uint32_t n = 0; n < 210; n++)
            CHECK_EQUAL(user[USER_DATA + n], (uint8_t)((n + 1) * 7));
        CHECK_EQUAL(k_read(c.fd, 1000), -EAGAIN);
        say(F | A, PEER(211), US(3001), 0);
        EXPECT(A, US(3001), PEER(212), 0);
        CHECK_EQUAL(k_read(c.fd, 1000), 0);
        CHECK_EQUAL(k_write(c.fd, 5), 5); /* the other half is open */
        EXPECT(A, US(3001), PEER(212), 5);
        say(A, PEER(212), US(3006), 0);
        k_close(c.fd);
        EXPECT(F | A, US(3006), PEER(212), 0);
        say(A, PEER(212), US(3007), 0);
        EXPECT_NOTHING();
        if (passive)
            k_close(c.listening);
        all_has_gone(); /* at once: it was not the first to close */
    }
}

HOST_TEST(who_closes_first_waits_for_what_is_late)
{
    FOR_STARTS(passive)
    {
        established(START, passive);
        CHECK_EQUAL(k_shutdown(c.fd, USER_SHUT_WR), 0);
        EXPECT(F | A, US(1), PEER(1), 0);
        CHECK_EQUAL(k_write(c.fd, 5), -EPIPE);
        say(A, PEER(1), US(2), 0);
        say(A, PEER(1), US(2), 10);
        say(A, PEER(11), US(2), 10);
        EXPECT(A, US(2), PEER(21), 0);
        CHECK_EQUAL(k_read(c.fd, 100), 20);
        say(F | A, PEER(21), US(2), 5);
        EXPECT(A, US(2), PEER(27), 0);
        CHECK_EQUAL(k_read(c.fd, 100), 5);
        CHECK_EQUAL(k_read(c.fd, 100), 0);
        CHECK_EQUAL(state(), TCPS_TIME_WAIT);
        k_close(c.fd);
        say(F | A, PEER(21), US(2), 5); /* our acknowledgement was lost */
        EXPECT(A, US(2), PEER(27), 0);
        advance(30000);
        say(F | A, PEER(21), US(2), 5); /* the same again: the wait begins anew */
        EXPECT(A, US(2), PEER(27), 0);
        advance(59000);
        CHECK(objects > (passive ? 2u : 0u));
        advance(62000);
        EXPECT_NOTHING();
        if (passive)
            k_close(c.listening);
        all_has_gone();
    }
}

HOST_TEST(both_open_and_close_at_once)
{
    FOR_STARTS(acknowledges)
    {
        prepare(START);
        asks_peer();
        EXPECT(S, US(0), 0, 0);
        say(S, PEER(0), 0, 0);
        EXPECT(S | A, US(0), PEER(1), 0);
        if (acknowledges) { /* the answer to our end, which needs no answer, or the other side's own end */
            say(A, PEER(1), US(1), 0);
        } else {
            say(S | A, PEER(0), US(1), 0);
            EXPECT(A, US(1), PEER(1), 0);
            say(A, PEER(1), US(1), 0);
        }
        EXPECT_NOTHING();
        CHECK_EQUAL(k_connect(c.fd, c.peer), -EISCONN);
        CHECK_EQUAL(state(), TCPS_ESTABLISHED);
        CHECK_EQUAL(k_shutdown(c.fd, USER_SHUT_RDWR), 0);
        EXPECT(F | A, US(1), PEER(1), 0);
        say(F | A, PEER(1), US(1), 0);
        EXPECT(F | A, US(1), PEER(2), 0);
        CHECK_EQUAL(state(), TCPS_CLOSING);
        say(A, PEER(2), US(2), 0);
        CHECK_EQUAL(state(), TCPS_TIME_WAIT);
        EXPECT_NOTHING();
        ended();
    }
}

/* A connection that is closed before it is established does not vanish: the peer gets its end or a reset. */
HOST_TEST(one_that_is_closed_while_both_ask_is_told_and_ends)
{
    for (unsigned lost = 0; lost < 2; lost++) {
        prepare(1000);
        asks_peer();
        EXPECT(S, US(0), 0, 0);
        say(S, PEER(0), 0, 0);
        EXPECT(S | A, US(0), PEER(1), 0);
        k_close(c.fd);
        bool told = false;
        for (unsigned n = 0; n < 100; n++, advance(SLOW_MS))
            for (; log_first != log_end; log_first++) {
                const struct seg *s = &logged[log_first % LOGGED];
                told |= s->flags & (R | F) && s->seq == US(1) && (s->flags & R || n || !lost);
                if (!(s->flags & R) && (n || !lost))
                    say(A, PEER(1), told && n ? US(2) : US(1), 0);
            }
        CHECK(told);
        ended();
    }
}

HOST_TEST(who_listens_not_is_refused)
{
    prepare(1000);
    say(S, PEER(0), 0, 0);
    EXPECT(R | A, 0, PEER(1), 0);
    say(S | F, PEER(0), 0, 10);
    EXPECT(R | A, 0, PEER(12), 0);
    say(A, PEER(0), 77, 10);
    EXPECT(R, 77, 0, 0);
    say(R, PEER(0), 77, 0);
    say(R | A, PEER(0), 77, 0);
    EXPECT_NOTHING();
    asks_peer();
    EXPECT(S, US(0), 0, 0);
    say(A, PEER(1), US(7), 0); /* of an old connection */
    EXPECT(R, US(7), 0, 0);
    say(R, PEER(0), 0, 0); /* of no connection */
    say(R | A, PEER(0), US(0), 0);
    EXPECT_NOTHING();
    CHECK_EQUAL(state(), TCPS_SYN_SENT);
    say(R | A, PEER(0), US(1), 0);
    EXPECT_NOTHING();
    CHECK_EQUAL(k_error(c.fd), ECONNREFUSED);
    CHECK_EQUAL(k_error(c.fd), 0);
    CHECK_EQUAL(k_poll(c.fd), USER_POLLIN | USER_POLLOUT | USER_POLLHUP);
    CHECK_EQUAL(k_connect(c.fd, c.peer), -EINVAL);
    ended();
}

#define ELSEWHERE 0x08080808u
static unsigned sent_elsewhere;

static void goes_elsewhere(struct mbuf *m)
{
    if (get16(m->m_data + 12) == ETHERTYPE_IP) {
        CHECK(!memcmp(m->m_data, (const uint8_t[]){2, 0, 0, 0, 0, 1}, 6)); /* the peer's */
        CHECK_EQUAL(get32(m->m_data + ETHER_HEADER + 12), OUR_IP);
        CHECK_EQUAL(get32(m->m_data + ETHER_HEADER + 16), ELSEWHERE);
        sent_elsewhere++;
    }
    m_free(m);
}

static int connect_elsewhere(int fd)
{
    return CALL(sys_connect, (uint32_t)fd, address(ELSEWHERE, 80), sizeof(struct user_sockaddr_in));
}

HOST_TEST(what_is_for_another_network_goes_by_a_gateway)
{
    begin();
    if_transmit = goes_elsewhere;
    int fd = k_socket(), udp = CALL(sys_socket, USER_AF_INET, USER_SOCK_DGRAM, 0);
    CHECK_EQUAL(connect_elsewhere(fd), -ENETUNREACH);
    CHECK_EQUAL(connect_elsewhere(udp), -ENETUNREACH);
    CHECK_EQUAL(route_add(0, 0, PEER_IP, 0), 0);
    CHECK_EQUAL(sent_elsewhere, 0);
    CHECK_EQUAL(connect_elsewhere(fd), -EINPROGRESS);
    CHECK_EQUAL(sent_elsewhere, 1);
    CHECK_EQUAL(connect_elsewhere(udp), 0);
    CHECK_EQUAL(CALL(sys_sendto, (uint32_t)udp, USER_AT, 5, 0, 0, 0), 5);
    CHECK_EQUAL(sent_elsewhere, 2);
    CHECK_EQUAL(route_delete(0, 0, 0), 0);
    CHECK_EQUAL(CALL(sys_sendto, (uint32_t)udp, USER_AT, 5, 0, 0, 0), 5); /* lost, and counted */
    CHECK_EQUAL(net_counts().no_route, 1);
    close_all();
    all_has_gone();
}

/* RFC 5961: only a reset with the next expected number counts; another in the window gets a challenge ACK. */
HOST_TEST(resets_end_a_connection_only_with_the_right_number)
{
    FOR_STARTS(passive)
    {
        established(START, passive);
        uint32_t window = tcb_at(c.fd)->rcv_adv - PEER(1);
        CHECK_EQUAL(window, SO_BUFFER);
        say(R, PEER(0), 0, 0);
        say(R, PEER(1) + window, 0, 0);
        EXPECT_NOTHING();
        say(R, PEER(2), 0, 0);
        EXPECT(A, US(1), PEER(1), 0);
        say(R | A, PEER(window), US(1), 0);
        EXPECT(A, US(1), PEER(1), 0);
        say(S, PEER(1), 0, 0);
        EXPECT(A, US(1), PEER(1), 0);
        say(S | A, PEER(77), US(1), 0);
        EXPECT(A, US(1), PEER(1), 0);
        say(A, PEER(1), US(2), 10); /* acknowledges what was not sent */
        EXPECT(A, US(1), PEER(1), 0);
        say(A, PEER(1), US(1) - 65536, 10);
        EXPECT(A, US(1), PEER(1), 0);
        CHECK_EQUAL(k_read(c.fd, 100), -EAGAIN);
        for (unsigned n = 0; n < 1000; n++) {
            say(R, PEER(2), 0, 0);
            say(S, PEER(2), 0, 0);
        }
        CHECK(log_end - log_first <= 10); /* bounded */
        log_first = log_end;
        say(A, PEER(1), US(1), 10);
        say(R, PEER(11), 0, 0);
        EXPECT_NOTHING();
        CHECK_EQUAL(k_read(c.fd, 100), 10);
        CHECK_EQUAL(k_read(c.fd, 100), -ECONNRESET);
        CHECK_EQUAL(k_read(c.fd, 100), 0);
        CHECK_EQUAL(k_write(c.fd, 100), -EPIPE);
        ended();
    }
}

/* Segments outside the window change nothing. */
HOST_TEST(segments_of_who_does_not_know_the_numbers_do_nothing)
{
    established(0xfffff000, true);
    struct random r = random_from(5, 5);
    CHECK_EQUAL(k_write(c.fd, 3 * MSS), 3 * MSS);
    say(A, PEER(1), US(1461), 10);
    log_first = log_end;
    struct tcpcb *tp = tcb_at(c.fd), was = *tp;
    for (unsigned n = 0; n < 10000 * host_times(); n++) {
        uint32_t flags = random_below(&r, 32), length = random_below(&r, 3) * 100, seq = random_next(&r),
                 ack = random_next(&r);
        /* One of both may be right. */
        if (random_below(&r, 2))
            seq = tp->rcv_nxt + random_below(&r, 3000);
        else
            ack = tp->snd_una + random_below(&r, tp->snd_max - tp->snd_una + 1);
        bool seq_good = seq - (tp->rcv_nxt - 65535 - length) < 65535 + SO_BUFFER + 65535;
        bool ack_good = ack - (tp->snd_una - 65535) <= 65535 + tp->snd_max - tp->snd_una;
        if ((seq_good && (ack_good || flags & R || !(flags & A))))
            continue;
        c.window = random_below(&r, 65536);
        say(flags, seq, ack, length);
        if (n % 100 == 0)
            advance(0);
        CHECK_EQUAL(tp->state, TCPS_ESTABLISHED);
        CHECK_EQUAL(tp->snd_una, was.snd_una);
        CHECK_EQUAL(tp->snd_nxt, was.snd_nxt);
        CHECK_EQUAL(tp->rcv_nxt, was.rcv_nxt);
        CHECK_EQUAL(tp->snd_wnd, was.snd_wnd);
        CHECK_EQUAL(tp->cwnd, was.cwnd);
        CHECK(STAILQ_EMPTY(&tp->reassembly) && !tp->fin_seen);
        for (; log_first != log_end; log_first++)
            CHECK(logged[log_first % LOGGED].flags == A);
    }
    ended();
}

HOST_TEST(segments_in_any_order_and_over_each_other_arrive_once)
{
    struct random r = random_from(3, 3);
    for (unsigned turn = 0; turn < 60 * host_times(); turn++) {
        established(STARTS[turn % 5], turn & 1);
        uint32_t most = 1 + random_below(&r, MSS), read = 0;
        uint32_t bytes = 1 + random_below(&r, 40 * most < 12000 ? 40 * most : 12000);
        uint8_t missing[12002];
        memset(missing, 1, sizeof missing);
        for (bool over = false; !over;) {
            uint32_t at = random_below(&r, bytes + 1), n = random_below(&r, most) + 1;
            if (!random_below(&r, 3)) /* the first hole */
                for (at = 0; at < bytes && !missing[at]; at++)
                    ;
            n = n < bytes - at ? n : bytes - at;
            uint32_t fin = at + n == bytes ? F : 0;
            say(A | fin, PEER(1 + at), US(1), n);
            memset(missing + at, 0, n + !!fin);
            log_first = log_end;
            uint32_t kept = 0, behind = 0;
            for (const struct mbuf *m = STAILQ_FIRST(&tcb_at(c.fd)->reassembly); m;
                 m = STAILQ_NEXT(m, m_nextpkt), kept++) {
                CHECK(!kept || seq_leq(behind, m->m_seq));
                behind = m->m_seq + m->m_len;
            }
            CHECK_EQUAL(tcb_at(c.fd)->reassembled, kept);
            int got = random_below(&r, 2) ? k_read(c.fd, random_below(&r, 4000) + 1) : -EAGAIN;
            over = got == 0;
            for (int i = 0; i < got; i++)
                CHECK_EQUAL(user[USER_DATA + i], (uint8_t)((1 + read + (uint32_t)i) * 7));
            read += got > 0 ? (uint32_t)got : 0;
        }
        CHECK_EQUAL(read, bytes);
        ended();
    }
}

HOST_TEST(an_end_before_the_data_waits_for_them)
{
    FOR_STARTS(passive)
    {
        established(START, passive);
        say(F | A, PEER(201), US(1), 100);
        EXPECT(A, US(1), PEER(1), 0);
        say(F | A, PEER(301), US(1), 0);
        EXPECT(A, US(1), PEER(1), 0);
        CHECK_EQUAL(k_read(c.fd, 1000), -EAGAIN);
        say(A, PEER(1), US(1), 200);
        EXPECT(A, US(1), PEER(302), 0);
        CHECK_EQUAL(k_read(c.fd, 1000), 300);
        CHECK_EQUAL(k_read(c.fd, 1000), 0);
        ended();
    }
}

HOST_TEST(an_idle_connection_stays_for_ever)
{
    FOR_STARTS(passive)
    {
        established(START, passive);
        advance(7200 * 1000);
        EXPECT_NOTHING();
        CHECK_EQUAL(state(), TCPS_ESTABLISHED);
        CHECK_EQUAL(k_write(c.fd, 5000), 5000);
        EXPECT(A, US(1), PEER(1), 1460);
        CHECK(log_end - log_first >= 1); /* nothing was lost: the congestion window is the initial one */
        log_first = log_end;
        ended();
    }
}

/* RFC 1122, 4.2.3.6: an idle connection is probed, and stays while the peer answers; else it ends. */
HOST_TEST(an_idle_connection_is_kept_alive_or_ends)
{
    for (unsigned what = 0; what < 8; what++) {
        bool answers = what & 1, inherits = what & 2, late = what & 4;
        uint32_t idle = late ? 30 : 100, interval = 10, count = 4, probes = 0, before;
        int fd;
        if (inherits) {
            prepare(STARTS[what % 5]);
            fd = c.listening = k_listen(7, 3);
        } else {
            established(STARTS[what % 5], what & 1);
            fd = c.fd;
        }
        CHECK_EQUAL(k_option(fd, USER_SOL_SOCKET, USER_SO_KEEPALIVE, 1), 0);
        CHECK_EQUAL(k_option(fd, IPPROTO_TCP, USER_TCP_KEEPIDLE, (int)idle), 0);
        CHECK_EQUAL(k_option(fd, IPPROTO_TCP, USER_TCP_KEEPINTVL, (int)interval), 0);
        CHECK_EQUAL(k_option(fd, IPPROTO_TCP, USER_TCP_KEEPCNT, (int)count), 0);
        CHECK_EQUAL(k_option(fd, USER_SOL_SOCKET, USER_SO_KEEPALIVE, 1), 0); /* these count from now on */
        if (inherits) {
            say(S, PEER(0), 0, 0);
            c.iss = logged[log_first % LOGGED].seq;
            EXPECT(S | A, US(0), PEER(1), 0);
            say(A, PEER(1), US(1), 0);
            c.fd = k_accept(c.listening);
            CHECK_EQUAL(k_option_is(c.fd, IPPROTO_TCP, USER_TCP_KEEPIDLE), (int)idle);
        }
        before = now;
        for (unsigned n = 0; n < 2 * 1000 && state() == TCPS_ESTABLISHED; n++) {
            advance(SLOW_MS);
            if (log_first == log_end)
                continue;
            last = logged[log_first++ % LOGGED];
            if (last.flags & R)
                break;
            CHECK_EQUAL(last.flags, A);
            CHECK_EQUAL(last.seq, US(0));
            CHECK_EQUAL(last.ack, PEER(1));
            CHECK_EQUAL(last.length, 0);
            uint32_t wait = answers || !probes ? idle : interval;
            CHECK(now - before <= wait * 1000 + SLOW_MS && now - before + 2 * SLOW_MS >= wait * 1000);
            before = now;
            probes++;
            if (answers)
                say(A, PEER(1), US(1), 0);
        }
        if (answers) {
            CHECK_EQUAL(state(), TCPS_ESTABLISHED);
            CHECK(probes >= 1000 / idle - 1);
            CHECK_EQUAL(k_option(c.fd, USER_SOL_SOCKET, USER_SO_KEEPALIVE, 0), 0);
            advance(10 * idle * 1000);
            EXPECT_NOTHING();
        } else {
            CHECK_EQUAL(probes, count);
            CHECK_EQUAL(k_error(c.fd), ETIMEDOUT);
        }
        ended();
    }
}

HOST_TEST(options_are_kept_checked_and_inherited)
{
    static const struct {
        uint32_t level, name;
        int first, good, bad;
    } of[] = {{USER_SOL_SOCKET, USER_SO_REUSEADDR, 0, 1, 0},
              {USER_SOL_SOCKET, USER_SO_KEEPALIVE, 0, 1, 0},
              {USER_SOL_SOCKET, USER_SO_SNDBUF, SO_BUFFER, 5000, -1},
              {USER_SOL_SOCKET, USER_SO_RCVBUF, SO_BUFFER, 40000, 0},
              {USER_SOL_SOCKET, USER_SO_RCVLOWAT, 1, 2, 0},
              {IPPROTO_TCP, USER_TCP_NODELAY, 0, 1, 0},
              {IPPROTO_TCP, USER_TCP_KEEPIDLE, 7200, 1, 0},
              {IPPROTO_TCP, USER_TCP_KEEPINTVL, 75, 32767, 32768},
              {IPPROTO_TCP, USER_TCP_KEEPCNT, 9, 127, 128}};
    prepare(1000);
    c.listening = k_listen(7, 3);
    for (unsigned i = 0; i < sizeof of / sizeof *of; i++) {
        CHECK_EQUAL(k_option_is(c.listening, of[i].level, of[i].name), of[i].first);
        CHECK_EQUAL(k_option(c.listening, of[i].level, of[i].name, of[i].good), 0);
        if (of[i].bad || of[i].name == USER_SO_RCVBUF || of[i].name == USER_TCP_KEEPIDLE)
            CHECK_EQUAL(k_option(c.listening, of[i].level, of[i].name, of[i].bad), -EINVAL);
        CHECK_EQUAL(k_option_is(c.listening, of[i].level, of[i].name), of[i].good);
    }
    CHECK_EQUAL(k_option_is(c.listening, USER_SOL_SOCKET, USER_SO_ACCEPTCONN), 1);
    CHECK_EQUAL(k_option_is(c.listening, USER_SOL_SOCKET, USER_SO_TYPE), USER_SOCK_STREAM);
    CHECK_EQUAL(k_option(c.listening, USER_SOL_SOCKET, USER_SO_TYPE, 1), -ENOPROTOOPT);
    CHECK_EQUAL(k_option(c.listening, 77, USER_SO_REUSEADDR, 1), -ENOPROTOOPT);
    say(S, PEER(0), 0, 0);
    c.iss = logged[log_first % LOGGED].seq;
    EXPECT(S | A, US(0), PEER(1), 0);
    CHECK_EQUAL(last.window, 40000);
    say(A, PEER(1), US(1), 0);
    c.fd = k_accept(c.listening);
    for (unsigned i = 1; i < sizeof of / sizeof *of; i++)
        CHECK_EQUAL(k_option_is(c.fd, of[i].level, of[i].name), of[i].good);
    CHECK_EQUAL(k_option(c.fd, USER_SOL_SOCKET, USER_SO_RCVBUF, 3000), 0); /* the window has been offered */
    CHECK_EQUAL(k_option_is(c.fd, USER_SOL_SOCKET, USER_SO_RCVBUF), 40000);
    CHECK_EQUAL(k_option_is(c.fd, IPPROTO_TCP, USER_TCP_MAXSEG), MSS);
    CHECK_EQUAL(k_write(c.fd, 6000), 5000);
    log_first = log_end;
    ended();
}

/*
 * When an unanswered segment is retransmitted: after twice as long each time, up to 64 s; then the connection ends.
 */
HOST_TEST(what_is_not_acknowledged_goes_again_ever_later)
{
    for (unsigned what = 0; what < 4; what++) {
        uint32_t flags = (const uint32_t[]){S, S | A, A, F | A}[what], seq, length = what == 2 ? 100 : 0;
        int listening = -1;
        if (what == 0) {
            prepare(1000);
            asks_peer();
        } else if (what == 1) {
            prepare(1000);
            listening = k_listen(7, 3);
            say(S, PEER(0), 0, 0);
            c.iss = logged[log_first % LOGGED].seq;
        } else {
            established(1000, what == 2);
            if (what == 2)
                CHECK_EQUAL(k_write(c.fd, 100), 100);
            else
                k_close(c.fd);
        }
        seq = what < 2 ? US(0) : US(1);
        uint32_t times = 0, before = now, gap = 0;
        for (unsigned n = 0; n < 4000; n++, advance(SLOW_MS))
            for (; log_first != log_end; log_first++, times++) {
                last = logged[log_first % LOGGED];
                if (last.flags & R)
                    break;
                CHECK_EQUAL(last.flags & ~P, flags);
                CHECK_EQUAL(last.seq, seq);
                CHECK_EQUAL(last.length, length);
                uint32_t ms = last.at - before;
                if (times == 1)
                    CHECK(ms >= 1000 && ms <= 1500);
                else if (times > 1)
                    CHECK((ms + 2 * SLOW_MS >= 2 * gap && ms <= 2 * gap + 2 * SLOW_MS) || ms == 64000);
                before = last.at;
                gap = ms;
            }
        log_first = log_end;
        CHECK(what < 2 ? times == 6 : times >= 12 && times <= 14);
        if (what == 0 || what == 2)
            CHECK_EQUAL(k_error(c.fd), ETIMEDOUT);
        if (what == 3)
            CHECK_EQUAL(open_files, 0);
        ended();
        (void)listening;
    }
}

HOST_TEST(three_acknowledgements_alike_bring_one_segment_back_at_once)
{
    FOR_STARTS(passive)
    {
        established(START, passive);
        uint32_t acked = 1, sent = 1;
        for (unsigned round = 0; round < 6; round++) { /* the window opens */
            k_write(c.fd, USER_MOST);
            for (; log_first != log_end; log_first++)
                sent += logged[log_first % LOGGED].length;
            acked = sent;
            say(A, PEER(1), US(acked), 0);
        }
        k_write(c.fd, USER_MOST);
        while (log_first != log_end)
            sent += logged[log_first++ % LOGGED].length;
        CHECK(sent - acked >= 5 * MSS);
        for (uint32_t limited = sent, n = 0; n < 2; n++) { /* RFC 3042 */
            say(A, PEER(1), US(acked), 0);
            for (; log_first != log_end; log_first++)
                limited += logged[log_first % LOGGED].length;
            CHECK(limited <= sent + (n + 1) * MSS);
        }
        say(A, PEER(1), US(acked), 0);
        EXPECT(A, US(acked), PEER(1), MSS);
        log_first = log_end;
        uint32_t ssthresh = tcb_at(c.fd)->ssthresh;
        CHECK(ssthresh <= (sent - acked) / 2 + MSS && ssthresh >= 2 * MSS);
        say(A, PEER(1), US(acked + 2 * MSS), 0); /* a second one was lost: RFC 6582 */
        EXPECT(A, US(acked + 2 * MSS), PEER(1), MSS);
        log_first = log_end;
        say(A, PEER(1), US(tcb_at(c.fd)->snd_max - c.iss), 0);
        CHECK(tcb_at(c.fd)->cwnd <= ssthresh + MSS);
        ended();
    }
}

/*
 * A closed window is probed with a byte, ever later; whatever the last byte or an end behind it, all arrives
 * when it opens.
 */
HOST_TEST(a_closed_window_is_probed_until_it_opens)
{
    for (unsigned what = 0; what < 12; what++) {
        uint32_t left = (const uint32_t[]){1, 2, 1000, 3000}[what % 4]; /* behind the closed window */
        bool takes = what / 4 == 1, close = what / 4 != 2; /* the peer takes a probe's byte */
        first_window = 1000;
        established(what % 2 ? 0xfffffff0 : 1000, what & 1);
        CHECK_EQUAL(k_write(c.fd, 1000 + left), (int)(1000 + left));
        EXPECT(A, US(1), PEER(1), 1000);
        c.window = 0;
        say(A, PEER(1), US(1001), 0);
        EXPECT_NOTHING();
        if (close)
            k_shutdown(c.fd, USER_SHUT_WR);
        EXPECT_NOTHING();
        uint32_t next = 1001, before = now, gap = 0;
        for (unsigned probe = 0; probe < 5; probe++) {
            while (log_first == log_end && now - before < 200000)
                advance(SLOW_MS);
            CHECK(log_end - log_first == 1);
            last = logged[log_first++ % LOGGED];
            CHECK_EQUAL(last.seq, US(next));
            CHECK_EQUAL(last.length, 1);
            CHECK(now - before + SLOW_MS >= gap);
            gap = now - before;
            before = now;
            if (!takes)
                say(A, PEER(1), US(next), 0);
        }
        c.window = 10000;
        if (takes) { /* its window update was lost, and it has taken all bytes of the last probe */
            next += last.length;
            if (last.flags & F)
                next++;
        }
        say(A, PEER(1), US(next), 0);
        uint32_t all = 1001 + left + close;
        for (unsigned n = 0; n < 100 && next != all; n++, advance(SLOW_MS)) {
            uint32_t was = next;
            for (; log_first != log_end; log_first++) {
                const struct seg *s = &logged[log_first % LOGGED];
                if (s->seq == US(next))
                    next += s->length + !!(s->flags & F);
            }
            if (next != was)
                say(A, PEER(1), US(next), 0);
        }
        CHECK_EQUAL(next, all);
        if (close)
            CHECK_EQUAL(state(), TCPS_FIN_WAIT_2);
        ended();
    }
}

HOST_TEST(a_window_that_closes_with_something_to_be_answered_is_probed)
{
    established(1000, true);
    CHECK_EQUAL(k_write(c.fd, 100), 100);
    EXPECT(A, US(1), PEER(1), 100);
    c.window = 0;
    say(A, PEER(50), US(1), 10);
    CHECK_EQUAL(log_end - log_first, 1);
    CHECK_EQUAL(logged[log_first++ % LOGGED].length, 0);
    advance(10000);
    EXPECT(A, US(1), PEER(1), 1);
    ended();
}

/*
 * A peer closes its window and sends nothing more, or answers for ever that it is closed after the socket was
 * closed.
 */
HOST_TEST(a_closed_window_keeps_no_connection_for_ever)
{
    for (unsigned answers = 0; answers < 2; answers++) {
        established(1000, true);
        c.window = 0;
        say(A, PEER(1), US(1), 0);
        CHECK_EQUAL(k_write(c.fd, 100), 100);
        if (answers)
            k_close(c.fd);
        for (unsigned s = 0; s < 1800 && (answers ? objects > 2 : state() != TCPS_CLOSED); s++) {
            advance(1000);
            bool sent = log_first != log_end;
            log_first = log_end;
            if (sent && answers)
                say(A, PEER(1), US(1), 0);
        }
        if (answers)
            CHECK_EQUAL(objects, 2);
        else
            CHECK_EQUAL(k_error(c.fd), ETIMEDOUT);
        ended();
    }
    established(1000, true); /* but one with a user and a peer that answers stays */
    c.window = 0;
    say(A, PEER(1), US(1), 0);
    CHECK_EQUAL(k_write(c.fd, 100), 100);
    for (unsigned s = 0; s < 3600; s++) {
        advance(1000);
        bool sent = log_first != log_end;
        log_first = log_end;
        if (sent)
            say(A, PEER(1), US(1), 0);
    }
    CHECK_EQUAL(state(), TCPS_ESTABLISHED);
    ended();
}

/* When half the buffer is free, a window update goes out at once, not only as an answer. */
HOST_TEST(reading_opens_a_closed_window_each_time)
{
    FOR_STARTS(passive)
    {
        established(START, passive);
        for (uint32_t round = 0, at = 1; round < 4; round++) {
            for (uint32_t n = 0; n < (round ? 8 : 16); n++, at += 1024)
                say(A, PEER(at), US(1), 1024);
            advance(FAST_MS);
            CHECK_EQUAL(logged[(log_end - 1) % LOGGED].window, 0);
            log_first = log_end;
            CHECK_EQUAL(k_read(c.fd, SO_BUFFER / 2), SO_BUFFER / 2);
            EXPECT(A, US(1), PEER(at), 0);
            CHECK_EQUAL(last.window, SO_BUFFER / 2);
        }
        ended();
    }
}

HOST_TEST(a_window_that_shrinks_is_kept)
{
    FOR_STARTS(passive)
    {
        established(START, passive);
        CHECK_EQUAL(k_write(c.fd, 10000), 10000);
        log_first = log_end;
        c.window = 700;
        say(A, PEER(1), US(1461), 10);
        advance(30000);
        for (; log_first != log_end; log_first++)
            CHECK(logged[log_first % LOGGED].seq - US(1) + logged[log_first % LOGGED].length <= 1460 + 700 ||
                  logged[log_first % LOGGED].length <= 1);
        say(A, PEER(1), US(1461), 10); /* the same again, late */
        ended();
    }
}

HOST_TEST(an_old_segment_says_nothing_of_the_window)
{
    established(1000, true);
    c.window = 100;
    say(A, PEER(1), US(1), 10);
    c.window = 30000;
    say(A, PEER(11), US(1), 10);
    c.window = 100;
    say(A, PEER(1), US(1), 10);
    CHECK_EQUAL(tcb_at(c.fd)->snd_wnd, 30000);
    ended();
}

HOST_TEST(no_segment_of_nobody_begins_a_connection)
{
    prepare(1000);
    int listening = k_listen(7, 3);
    unsigned had = objects;
    for (unsigned i = 0; i < 6; i++) {
        struct seg s = {.flags = S, .seq = 1, .window = 1000, .kernel = 7, .peer = 99};
        uint32_t length = make_frame(&s);
        put32(frame_ip + 12, (const uint32_t[]){0, OUR_IP, 0xffffffff, 0x0a0000ff, 0xe0000001, 0xff000001}[i]);
        make_sums(TCP_HEADER);
        input_frame(length);
        CHECK_EQUAL(objects, had);
    }
    CHECK_EQUAL(net_counts().tcp_bad, 1); /* IP has dropped the others */
    CHECK_EQUAL(net_counts().ip_bad, 5);
    k_close(listening);
    ended();
}

/* An ICMP message, from a router or the peer, about the connection's segment that began with number `seq`. */
static void say_icmp(uint32_t type, uint32_t code, uint32_t seq, uint32_t quoted)
{
    input_icmp(type, code, 0, &(struct seg){.kernel = c.kernel, .peer = c.peer, .seq = seq}, quoted);
}

HOST_TEST(an_error_of_the_network_ends_an_attempt_if_it_is_hard)
{
    for (uint32_t code = 0; code < 16; code++) {
        prepare(1000);
        asks_peer();
        EXPECT(S, US(0), 0, 0);
        say_icmp(3, code, US(1), 28); /* of nothing in flight (RFC 5927) */
        say_icmp(3, code, US(0) - 1, 28);
        say_icmp(3, code, US(0), 27); /* cut short */
        CHECK_EQUAL(state(), TCPS_SYN_SENT);
        say_icmp(3, code, US(0), 28);
        bool hard = code == 2 || code == 3;
        CHECK_EQUAL(state(), hard ? TCPS_CLOSED : TCPS_SYN_SENT);
        if (!hard) {
            for (unsigned s = 0; s < 400 && state() != TCPS_CLOSED; s++)
                advance(1000);
            log_first = log_end;
        }
        CHECK_EQUAL(k_error(c.fd), hard                                   ? ECONNREFUSED
                                   : code == 0 || code == 6 || code == 11 ? ENETUNREACH
                                                                          : EHOSTUNREACH);
        ended();
    }
    CHECK_EQUAL(net_counts().icmp_told, 3 * 16);
}

HOST_TEST(an_error_of_the_network_ends_no_connection)
{
    for (uint32_t code = 0; code < 16; code++) {
        established(1000, code % 2);
        CHECK_EQUAL(k_write(c.fd, 100), 100);
        EXPECT(A, US(1), PEER(1), 100);
        say_icmp(code % 3 ? 3 : 11, code, US(1), 28);
        CHECK_EQUAL(state(), TCPS_ESTABLISHED);
        if (code == 4)
            EXPECT(A, US(1), PEER(1), 100); /* it was too long: sent again, though not shorter */
        say(A, PEER(1), US(101), 0);
        CHECK_EQUAL(tcb_at(c.fd)->soft_error, 0); /* the peer has answered again */
        EXPECT_NOTHING();
        CHECK_EQUAL(k_error(c.fd), 0);
        ended();
    }
}

HOST_TEST(who_closes_with_bytes_unread_resets)
{
    for (unsigned what = 0; what < 5; what++) {
        established(1000, true);
        bool ends = what == 1 || what == 4;
        say(A | (ends && what == 1 ? F : 0), PEER(1), US(1), 100);
        if (what >= 2)
            k_shutdown(c.fd, USER_SHUT_WR);
        if (what == 3)
            say(A, PEER(101), US(2), 0);
        if (what == 4)
            say(F | A, PEER(101), US(1), 0); /* both at once */
        log_first = log_end;
        k_close(c.fd);
        CHECK(log_end - log_first == 1);
        last = logged[log_first++ % LOGGED];
        CHECK_EQUAL(last.flags, R | A);
        CHECK_EQUAL(last.seq, what < 2 ? US(1) : US(2));
        k_close(c.listening);
        all_has_gone();
    }
    established(1000, true); /* and bytes that come after the socket was closed */
    k_close(c.fd);
    EXPECT(F | A, US(1), PEER(1), 0);
    say(A, PEER(1), US(2), 0);
    EXPECT_NOTHING();
    say(A, PEER(1), US(2), 10);
    EXPECT(R | A, US(2), PEER(1), 0);
    k_close(c.listening);
    all_has_gone();
}

HOST_TEST(a_queue_takes_as_many_as_it_was_said_and_a_flood_costs_no_more)
{
    prepare(1000);
    int listening = k_listen(7, 4);
    unsigned had = objects;
    for (unsigned n = 0; n < 10000; n++) {
        c.peer = (uint16_t)(1000 + n);
        say(S, PEER(0), 0, 0);
        CHECK(objects <= had + 2 * 4);
        CHECK(log_end - log_first <= 4);
    }
    CHECK_EQUAL(log_end - log_first, 4);
    for (unsigned n = 0; n < 4; n++) {
        c.peer = logged[(log_first + n) % LOGGED].peer;
        c.iss = logged[(log_first + n) % LOGGED].seq;
        if (n != 2)
            say(A, PEER(1), US(1), 10);
    }
    log_first = log_end;
    c.fd = k_accept(listening);
    CHECK(c.fd >= 0);
    CHECK_EQUAL(k_read(c.fd, 100), 10);
    c.peer = 999;
    say(S, PEER(0), 0, 0); /* there is room for one again */
    CHECK_EQUAL(log_end - log_first, 1);
    c.iss = logged[log_first++ % LOGGED].seq;
    say(S, PEER(0), 0, 0); /* its answer was lost */
    EXPECT(S | A, US(0), PEER(1), 0);
    for (unsigned n = 0; n < 20; n++) { /* a place is free again when its peer has reset, or never answers */
        say(R, PEER(1), 0, 0);
        c.peer = (uint16_t)(100 + n);
        log_first = log_end;
        say(S, PEER(0), 0, 0);
        c.iss = logged[log_first % LOGGED].seq;
        EXPECT(S | A, US(0), PEER(1), 0);
    }
    log_first = log_end;
    unsigned resets = 0;
    k_close(listening); /* two wait, two are being made: these are refused when they come */
    while (log_first != log_end)
        resets += !!(logged[log_first++ % LOGGED].flags & R);
    CHECK_EQUAL(resets, 2);
    say(A, PEER(1), US(1), 10);
    EXPECT(R | A, US(1), PEER(1), 0);
    ended();
}

/* A peer ----------------------------------------------------------------------------------------------------------- */

/*
 * Another TCP, simple and strict: it counts its own stream in 64-bit positions (0 is the SYN, then the
 * bytes, then the FIN), sends segments of any length that the window allows, overlapping when retransmitted,
 * and takes segments in any order.
 */
#define STREAM_MOST 60000u
#define PEERS 4

struct peer {
    bool begins, heard, reset,
        both; /* begins: it sends the first SYN; heard: it has the kernel's SYN; both: it begins, too */
    uint16_t kernel, port;
    uint32_t iss, irs, mss, capacity;
    uint64_t una, nxt, most, edge; /* of what it sends: acknowledged, next, most that was sent, end of the window */
    uint32_t size; /* bytes */
    bool ends; /* its FIN may go */
    uint64_t rnxt, fin, read, offered; /* of what comes; fin 0: not known */
    uint8_t got[STREAM_MOST + 2 * MSS];
    uint32_t timer, wait, ack_at;
    bool acks;
    /* Options that it offers, all of which the kernel accepts; its clock's start, the kernel's latest time. */
    bool times, sacks, scales;
    uint8_t scale, kernel_scale;
    uint32_t clock, recent;
    uint64_t high; /* the end of what has come */
    uint8_t arrived[STREAM_MOST + 2 * MSS]; /* what the kernel has got */
    /* What the kernel has said. */
    bool said, again;
    uint64_t acked, kernel_edge;
    /* The kernel's user. */
    int fd;
    uint32_t to_write, wrote, has_read, next, how;
    bool shut, at_end, closed, error;
};

static struct peer peers[PEERS];
static uint32_t seed_now;
static unsigned peer_count;
static struct random dice;
static uint32_t loss, twice, late, damage; /* of 1000; late: milliseconds at most */
static bool may_fail; /* connections may end before they have carried all */
static bool silent; /* the wire is cut */
static uint64_t failing, failures; /* allocations of a transfer: the first that fails, and how many do */

static struct flight {
    uint32_t at, number;
    bool to_kernel, damaged;
    struct seg s;
} flights[512];
static unsigned flight_count;
static uint32_t flight_number;

static bool chance(uint32_t of_1000)
{
    return random_below(&dice, 1000) < of_1000;
}

static uint8_t pattern(const struct peer *p, bool of_kernel, uint64_t at)
{
    uint32_t n = (uint32_t)at * 2654435761u + p->port * 40503u + of_kernel * 77777u;
    return (uint8_t)(n >> 13);
}

static uint64_t place(uint32_t number, uint32_t first, uint64_t near)
{
    return near + (uint64_t)(int64_t)(int32_t)(number - first - (uint32_t)near);
}

static void to_wire(const struct seg *s, bool to_kernel)
{
    for (unsigned copies = 1 + chance(twice); copies; copies--) {
        if (silent || chance(loss) || flight_count == 512)
            continue;
        struct flight *f = &flights[flight_count++];
        *f = (struct flight){now + 1 + random_below(&dice, late + 1), flight_number++, to_kernel, chance(damage), *s};
    }
}

static void add_option(struct seg *s, uint32_t value, unsigned bytes)
{
    while (bytes--)
        s->option[s->option_bytes++] = (uint8_t)(value >> 8 * bytes);
}

static const uint8_t *option_at(const struct seg *s, uint8_t kind)
{
    for (uint32_t at = 0; at < s->option_bytes; at += s->option[at] == 1 ? 1 : s->option[at + 1])
        if (s->option[at] == kind)
            return s->option + at;
    return 0;
}

/* Up to three ranges behind a gap, from any one on. */
static void peer_tells(struct peer *p, struct seg *s)
{
    uint64_t first[64], end[64];
    unsigned n = 0;
    for (uint64_t at = p->rnxt + 1; p->rnxt && at < p->high && n < 64; at++) {
        if (!p->got[at])
            continue;
        first[n] = at;
        while (p->got[at])
            at++;
        end[n++] = at;
    }
    if (!n)
        return;
    unsigned from = random_below(&dice, n), blocks = n < 3 ? n : 3;
    add_option(s, 1 << 24 | 1 << 16 | 5 << 8 | (2 + 8 * blocks), 4);
    for (unsigned i = 0; i < blocks; i++) {
        add_option(s, p->irs + (uint32_t)first[(from + i) % n], 4);
        add_option(s, p->irs + (uint32_t)end[(from + i) % n], 4);
    }
}

static void peer_options(struct peer *p, struct seg *s)
{
    if (s->flags & S) {
        add_option(s, 0x0204, 2);
        add_option(s, p->mss, 2);
    }
    if (s->flags & S && p->sacks)
        add_option(s, 1 << 24 | 1 << 16 | 0x0402, 4);
    if (s->flags & S && p->scales)
        add_option(s, 1 << 24 | 0x0303 << 8 | p->scale, 4);
    if (p->times) {
        add_option(s, 1 << 24 | 1 << 16 | 0x080a, 4);
        add_option(s, p->clock + now, 4);
        add_option(s, p->heard ? p->recent : 0, 4);
    }
    if (p->sacks && p->heard && !(s->flags & S))
        peer_tells(p, s);
}

/* The first position of its window: behind the SYN, if that has not come. */
static uint64_t window_from(const struct peer *p)
{
    return p->rnxt ? p->rnxt : 1;
}

static uint32_t peer_window(const struct peer *p)
{
    uint64_t from = window_from(p), used = from - 1 > p->read ? from - 1 - p->read : 0;
    uint64_t space = p->capacity > used ? p->capacity - used : 0, promised = p->offered > from ? p->offered - from : 0;
    return (uint32_t)(space > promised ? space : promised);
}

static void peer_says(struct peer *p, uint32_t flags, uint64_t at, uint32_t length)
{
    struct seg s = {.kernel = p->kernel,
                    .peer = p->port,
                    .seq = p->iss + (uint32_t)at,
                    .flags = flags | (p->heard ? A : 0u),
                    .ack = p->heard ? p->irs + (uint32_t)p->rnxt : 0,
                    .length = length};
    uint32_t window = peer_window(p), scale = p->scales && !(flags & S) ? p->scale : 0;
    s.window = window >> scale < 65535 ? window >> scale : 65535;
    window = s.window << scale;
    peer_options(p, &s);
    for (uint32_t i = 0; i < length; i++)
        s.data[i] = pattern(p, false, at + i);
    uint64_t end = at + length + !!(flags & (S | F));
    p->most = end > p->most ? end : p->most;
    if (window_from(p) + window > p->offered)
        p->offered = window_from(p) + window;
    p->acks = false;
    to_wire(&s, true);
}

static void peer_sends(struct peer *p)
{
    if (p->reset || (!p->heard && !p->begins))
        return;
    if (!p->nxt) {
        peer_says(p, S, 0, 0);
        p->nxt = 1;
    }
    while (p->una && p->nxt <= p->size && p->nxt < p->edge) {
        uint64_t n = 1 + random_below(&dice, random_below(&dice, 3) ? MSS - TCP_OPTIONS_MOST : 100);
        n = n > p->size + 1 - p->nxt ? p->size + 1 - p->nxt : n;
        n = n > p->edge - p->nxt ? p->edge - p->nxt : n;
        bool with_end = p->ends && p->nxt + n == p->size + 1 && random_below(&dice, 2);
        peer_says(p, P | (with_end ? F : 0), p->nxt, (uint32_t)n);
        p->nxt += n + with_end;
    }
    if (p->una && p->ends && p->nxt == p->size + 1) {
        peer_says(p, F, p->nxt, 0);
        p->nxt++;
    }
}

static bool peer_is_over(const struct peer *p)
{
    return p->reset || (p->una == p->size + 2 && p->fin && p->rnxt == p->fin + 1);
}

static void peer_timer(struct peer *p)
{
    if (p->acks && (int32_t)(now - p->ack_at) >= 0)
        peer_says(p, 0, p->nxt, 0);
    if ((int32_t)(now - p->timer) < 0)
        return;
    p->wait = p->wait < 8000 ? 2 * p->wait : 8000;
    p->timer = now + p->wait;
    if (p->reset || (p->una == p->nxt && !(p->una && p->nxt <= p->size)))
        return;
    bool closed = p->una == p->nxt; /* a window that has no room */
    p->nxt = p->una > 1 && random_below(&dice, 3) == 0 && p->una <= p->size
                 ? p->una - random_below(&dice, (uint32_t)(p->una < 500 ? p->una : 500))
                 : p->una;
    if (closed && p->edge <= p->nxt) {
        peer_says(p, P, p->nxt, 1);
        p->nxt = p->una;
    } else {
        peer_sends(p);
    }
}

/* Drops, now and then, what it has reported, but not acknowledged (RFC 2018, 8). */
static void peer_throws_away(struct peer *p)
{
    if (p->high <= p->rnxt || !chance(3))
        return;
    memset(p->got + p->rnxt, 0, p->high - p->rnxt);
    p->high = p->rnxt;
}

static void peer_takes(struct peer *p, const struct seg *s)
{
    if (s->flags & R) {
        if (p->heard ? place(s->seq, p->irs, p->rnxt) - p->rnxt <= p->capacity : s->flags & A && s->ack == p->iss + 1)
            p->reset = true;
        return;
    }
    if (p->reset)
        return;
    if (s->flags & S && !p->heard) {
        p->heard = true;
        p->irs = s->seq;
        p->rnxt = 1;
        if (!(s->flags & A)) {
            p->nxt = 0; /* its SYN is sent again with an acknowledgement */
            p->acks = false;
        } else {
            p->acks = true;
            p->ack_at = now;
        }
    }
    if (!p->heard)
        return;
    if (p->times && option_at(s, 8) && place(s->seq, p->irs, p->rnxt) <= p->rnxt)
        p->recent = get32(option_at(s, 8) + 2);
    uint32_t window = s->flags & S ? s->window : s->window << p->kernel_scale;
    if (s->flags & A) {
        uint64_t a = place(s->ack, p->iss, p->una);
        if (a > p->una && a <= p->most) {
            p->una = a;
            p->nxt = p->nxt < a ? a : p->nxt;
            p->wait = 500;
            p->timer = now + p->wait;
        }
        if (a <= p->most && a + window > p->edge)
            p->edge = a + window;
    }
    uint64_t at = place(s->seq, p->irs, p->rnxt), end = at + s->length;
    if (s->flags & S) {
        p->acks = true;
        p->ack_at = now;
    }
    if (!(s->length || s->flags & F))
        return;
    p->ack_at =
        at != p->rnxt || p->acks || s->flags & F || random_below(&dice, 2) ? now : now + random_below(&dice, 200);
    p->acks = true;
    uint64_t most = p->rnxt + peer_window(p);
    for (uint64_t i = at < p->rnxt ? p->rnxt : at; i < end && i < most; i++) {
        p->got[i] = 1;
        p->high = i >= p->high ? i + 1 : p->high;
    }
    if (s->flags & F && end <= most)
        p->fin = end;
    while (p->got[p->rnxt])
        p->rnxt++;
    peer_throws_away(p);
    if (p->fin && p->rnxt == p->fin)
        p->rnxt++;
}

/* The options of a kernel's segment: the negotiated ones; the ranges that it reports have come. */
static void check_agreed(struct peer *p, const struct seg *s, uint64_t acked)
{
    const uint8_t *times = option_at(s, 8), *scale = option_at(s, 3), *sack = option_at(s, 5);
    bool asks = s->flags & S && !(s->flags & A);
    CHECK(asks || !times == !p->times);
    CHECK(!(s->flags & S) || asks || (!scale == !p->scales && !option_at(s, 4) == !p->sacks));
    CHECK(!sack || p->sacks);
    if (s->flags & S)
        p->kernel_scale = p->scales && scale ? scale[2] : 0;
    if (times && s->flags & A)
        CHECK(get32(times + 6) - p->clock <= now);
    for (unsigned at = 2; sack && at < sack[1]; at += 8) {
        uint64_t first = place(get32(sack + at), p->iss, acked), end = place(get32(sack + at + 4), p->iss, acked);
        CHECK(first > acked && first < end && end <= p->most);
        for (uint64_t i = first; i < end; i++)
            CHECK(p->arrived[i]);
    }
}

/* The kernel's segments are checked when sent, whatever happens to them on the wire. */
static void sent_to_peers(const struct seg *s)
{
    struct peer *p = 0;
    for (unsigned i = 0; i < peer_count; i++)
        if (peers[i].port == s->peer && peers[i].kernel == s->kernel)
            p = &peers[i];
    if (!p)
        return;
    if (!(s->flags & R)) {
        static uint32_t first[PEERS];
        uint32_t *irs = &first[p - peers];
        if (!p->said) {
            CHECK(s->flags & S);
            *irs = s->seq;
            p->said = true;
        }
        uint64_t at = place(s->seq, *irs, p->rnxt), end = at + s->length;
        if (s->flags & S && at && may_fail)
            p->again = true; /* a late SYN began another connection */
        if (p->again)
            return;
        CHECK(!(s->flags & S) || at == 0);
        CHECK(!s->length || (at > 0 && end <= p->wrote + 1u));
        CHECK(s->length + (s->flags & S ? 0u : s->option_bytes) <= p->mss);
        if (s->length && end > p->offered && !(s->length == 1 && end == p->offered + 1))
            host_failed(__FILE__, __LINE__,
                        "seed %u: bytes %u to %u, beyond the window, which ends at %u; %u have come", seed_now,
                        (unsigned)at, (unsigned)end, (unsigned)p->offered, (unsigned)p->rnxt);
        for (uint32_t i = 0; i < s->length; i++)
            CHECK_EQUAL(s->data[i], pattern(p, true, at + i));
        if (s->flags & F && !((p->shut || p->closed) && end == p->wrote + 1u))
            host_failed(__FILE__, __LINE__, "seed %u: a FIN at %u, of %u written; shut %u closed %u", seed_now,
                        (unsigned)end, p->wrote, p->shut, p->closed);
        if (s->flags & A) {
            uint64_t a = place(s->ack, p->iss, p->acked);
            check_agreed(p, s, a);
            uint32_t scale = s->flags & S ? 0 : p->kernel_scale;
            uint64_t edge = a + ((uint64_t)s->window << scale);
            CHECK(a <= p->most && a >= p->acked);
            CHECK(edge + (1u << scale) > p->kernel_edge ||
                  (s->flags & S &&
                   s->window == TCP_WINDOW_MOST)); /* less only by what scaling cuts off (RFC 7323, 2.4) */
            p->acked = a;
            p->kernel_edge = edge > p->kernel_edge ? edge : p->kernel_edge;
        } else {
            check_agreed(p, s, 0);
        }
    }
    to_wire(s, false);
}

/* The kernel's user of a connection makes a call. */
static void user_acts(struct peer *p)
{
    if (p->fd < 0 || p->closed || (int32_t)(now - p->next) < 0)
        return;
    p->next = now + random_below(&dice, p->how & 1 ? 20 : 400);
    uint32_t most = 1 + random_below(&dice, random_below(&dice, 2) ? USER_MOST : 300);
    if (!p->at_end && !p->error) {
        int n = k_read(p->fd, most);
        for (int i = 0; i < n; i++)
            CHECK_EQUAL(user[USER_DATA + i], pattern(p, false, p->has_read + 1u + (uint32_t)i));
        if (n > 0)
            p->has_read += (uint32_t)n;
        p->at_end = n == 0;
        p->error = n < 0 && n != -EAGAIN && n != -ENOTCONN;
        CHECK(!p->error || may_fail || n == -ENOBUFS);
        CHECK(!p->at_end || p->has_read == p->size || may_fail);
    }
    if (!p->shut && !p->error && (!(p->how & 2) || p->at_end)) { /* at once, or when all has come */
        uint32_t n = p->to_write - p->wrote < most ? p->to_write - p->wrote : most;
        for (uint32_t i = 0; i < n; i++)
            user[USER_DATA + i] = pattern(p, true, p->wrote + 1u + i);
        uint32_t before = p->wrote;
        p->wrote += n; /* it may be sent at once */
        int done = n ? k_write(p->fd, n) : 0;
        p->wrote = before + (done > 0 ? (uint32_t)done : 0);
        CHECK(done >= 0 || done == -EAGAIN || done == -ENOBUFS || done == -ENOTCONN || may_fail);
        p->error = done == -EPIPE || done == -ECONNRESET || done == -ETIMEDOUT;
        if (!p->error && p->wrote == p->to_write && !(p->how & 4 && !p->at_end)) {
            p->shut = true;
            if (!(p->how & 4) && k_shutdown(p->fd, USER_SHUT_WR)) {
                p->shut = false;
            }
        }
    }
    if (p->error || (p->shut && p->at_end) || (may_fail && chance(2))) {
        p->closed = true;
        k_close(p->fd);
        p->fd = -1;
    }
}

static void has_arrived(const struct seg *s)
{
    for (unsigned n = 0; n < peer_count; n++)
        if (peers[n].port == s->peer && peers[n].kernel == s->kernel)
            memset(peers[n].arrived + place(s->seq, peers[n].iss, peers[n].acked), 1, s->length);
}

static void frames_arrive(void)
{
    for (unsigned i = 0; i < flight_count;) {
        if ((int32_t)(now - flights[i].at) < 0) {
            i++;
            continue;
        }
        struct flight f = flights[i];
        flights[i] = flights[--flight_count];
        if (f.to_kernel) {
            uint32_t length = make_frame(&f.s);
            if (f.damaged) {
                uint32_t bit = random_below(&dice, 8 * (length - ETHER_HEADER));
                frame[ETHER_HEADER + bit / 8] ^= (uint8_t)(1 << bit % 8);
            } else {
                has_arrived(&f.s);
            }
            input_frame(length);
        } else if (!f.damaged) {
            for (unsigned n = 0; n < peer_count; n++)
                if (peers[n].port == f.s.peer && peers[n].kernel == f.s.kernel)
                    peer_takes(&peers[n], &f.s);
        }
    }
}

/* Of so many connections: kept segments, and two buffers, of which two neighbours have more than a cluster's room. */
static void memory_is_bounded(unsigned connections)
{
    uint32_t most = connections * (TCP_REASSEMBLY_MOST + 4 * (SO_BUFFER / IP_MTU + 1));
    CHECK(cluster_pool.in_use <= most);
    CHECK(m_in_use() <= 2 * most);
}

static bool flooded; /* an attacker who does not know the numbers sends, too */

/* Segments of the peers' ports; once all connections have begun, others that begin and never go on. */
static void flood(void)
{
    bool begun = true;
    for (unsigned i = 0; i < peer_count; i++)
        begun &= peers[i].una > 0 && peers[i].fd >= 0;
    for (unsigned n = random_below(&dice, 4); n; n--) {
        const struct peer *p = &peers[random_below(&dice, peer_count)];
        struct seg s = {.kernel = p->kernel,
                        .peer = p->port,
                        .seq = random_next(&dice),
                        .ack = random_next(&dice),
                        .flags = random_below(&dice, 32),
                        .window = random_below(&dice, 65536),
                        .length = random_below(&dice, 3) * 100};
        if (begun && random_below(&dice, 2)) {
            s.kernel = 7;
            s.peer = (uint16_t)(50000 + random_below(&dice, 10000));
            s.flags = S;
        } else if (!p->una || p->closed || (p->fin && p->rnxt > p->fin)) {
            continue; /* there may be no connection yet, or no longer: a SYN would begin one */
        }
        input(&s);
        memory_is_bounded(peer_count);
    }
}

/* Advances to the next event. */
static void world_step(int listening)
{
    static uint32_t until;
    until = now + 1;
    unsigned earliest = flight_count;
    for (unsigned i = 0; i < flight_count; i++)
        if (earliest == flight_count || (int32_t)(flights[i].at - flights[earliest].at) < 0 ||
            (flights[i].at == flights[earliest].at && flights[i].number < flights[earliest].number))
            earliest = i;
    uint32_t next = now + 100;
    if (earliest < flight_count && (int32_t)(flights[earliest].at - next) < 0)
        next = flights[earliest].at;
    for (unsigned i = 0; i < peer_count; i++) {
        struct peer *p = &peers[i];
        if (p->fd >= 0 && (int32_t)(p->next - next) < 0)
            next = p->next;
        if (!p->reset && (int32_t)(p->timer - next) < 0)
            next = p->timer;
        if (p->acks && (int32_t)(p->ack_at - next) < 0)
            next = p->ack_at;
    }
    if ((int32_t)(next - until) > 0)
        until = next;
    advance(until - now);
    frames_arrive();
    if (flooded)
        flood();
    int fd = listening >= 0 ? k_accept(listening) : -1;
    for (unsigned i = 0; i < peer_count; i++) {
        struct peer *p = &peers[i];
        if (fd >= 0 && tcb_at(fd)->inp.fport == p->port) {
            p->fd = fd;
            fd = -1;
        }
        user_acts(p);
        if (p->rnxt > p->read + 1 && random_below(&dice, 4)) { /* its user reads */
            uint32_t was = peer_window(p);
            p->read += 1 + random_below(&dice, (uint32_t)(p->rnxt - p->read - 1));
            if (!was || random_below(&dice, 4) == 0) {
                p->acks = true;
                p->ack_at = now;
            }
        }
        peer_sends(p);
        peer_timer(p);
    }
    CHECK(fd < 0);
}

/* A usual size, or any up to more than a window without scaling. */
static void random_buffers(int fd)
{
    if (random_below(&dice, 2) || flooded)
        return;
    k_option(fd, USER_SOL_SOCKET, USER_SO_RCVBUF, (int)(1 + random_below(&dice, 200000)));
    k_option(fd, USER_SOL_SOCKET, USER_SO_SNDBUF, (int)(1 + random_below(&dice, 200000)));
}

/* A peer of a transfer of less than `most` bytes each way: it begins, or the kernel does, or both. */
static void draw_peer(struct peer *p, unsigned i, uint32_t most)
{
    static uint16_t port = 2000;
    *p = (struct peer){.port = port++, .kernel = 7, .fd = -1};
    port = port > 40000 ? 2000 : port;
    p->iss = random_below(&dice, 2) ? 0u - random_below(&dice, 2 * most) : random_next(&dice);
    p->mss = 64 + random_below(&dice, 1400);
    p->capacity = 1 + most / 200 + random_below(&dice, random_below(&dice, 3) ? 20000 : 2000);
    p->times = random_below(&dice, 2);
    p->sacks = random_below(&dice, 3);
    p->scales = random_below(&dice, 2);
    p->scale = (uint8_t)random_below(&dice, random_below(&dice, 2) ? 4 : 15);
    p->capacity += p->scales ? random_below(&dice, STREAM_MOST) + (2u << p->scale) : 0;
    p->clock = 0u - random_below(&dice, 200000); /* it wraps soon */
    p->clock -= now;
    p->size = random_below(&dice, most);
    p->to_write = random_below(&dice, most);
    p->how = random_below(&dice, 8);
    p->ends = true;
    p->begins = random_below(&dice, 2);
    p->wait = 500;
    p->timer = now + p->wait;
    p->next = now;
    if (p->begins && i) {
        aim_iss(7, p->port, 0u - random_below(&dice, 2 * most));
        return;
    }
    p->begins = random_below(&dice, 4) == 0; /* the kernel does, in any case */
    p->kernel = (uint16_t)(100 + i);
    aim_iss(p->kernel, p->port, 0u - random_below(&dice, 2 * most));
    do
        p->fd = k_socket();
    while (p->fd < 0);
    random_buffers(p->fd);
    CHECK_EQUAL(CALL(sys_bind, (uint32_t)p->fd, address(0, p->kernel), sizeof(struct user_sockaddr_in)), 0);
    CHECK_EQUAL(k_connect(p->fd, p->port), -EINPROGRESS);
}

static void has_all(const struct peer *p, uint32_t seed)
{
    if (!p->closed || !p->at_end || p->has_read != p->size || p->wrote != p->to_write ||
        (!p->reset && p->rnxt != p->to_write + 2u))
        host_failed(__FILE__, __LINE__,
                    "seed %u, connection %u of %u: how %u, read %u of %u, wrote %u of %u, came %u, shut %u closed %u "
                    "reset %u, state %d",
                    seed, (unsigned)(p - peers), peer_count, p->how, p->has_read, p->size, p->wrote, p->to_write,
                    (unsigned)p->rnxt, p->shut, p->closed, p->reset, p->fd >= 0 ? (int)tcb_at(p->fd)->state : -1);
}

static void transfers(uint32_t seed, unsigned how_many, uint32_t most)
{
    begin();
    dice = random_from(seed, 9);
    seed_now = seed;
    on_sent = sent_to_peers;
    flight_count = 0;
    static const uint32_t losses[] = {0, 0, 20, 100, 150}, lates[] = {0, 5, 50, 800};
    loss = losses[random_below(&dice, 5)];
    twice = losses[random_below(&dice, 4)];
    damage = losses[random_below(&dice, loss > 20 ? 3 : 4)];
    late = lates[random_below(&dice, 4)];
    fail_from = allocations + failing;
    fail_to = fail_from + failures;
    int listening = -1;
    while ((listening = k_listen(7, 8)) < 0)
        ;
    random_buffers(listening);
    peer_count = how_many;
    for (unsigned i = 0; i < peer_count; i++)
        draw_peer(&peers[i], i, most);
    uint32_t began = now;
    uint32_t cut = random_below(&dice, 100000), least = may_fail ? 200000 : 7200 * 1000;
    for (bool over = false; !over && now - began < least;) {
        silent = may_fail && seed % 2 && now - began > cut;
        world_step(listening);
        over = true;
        for (unsigned i = 0; i < peer_count; i++)
            over &= (peer_is_over(&peers[i]) || may_fail) && peers[i].closed;
    }
    for (unsigned i = 0; i < peer_count && !may_fail; i++)
        has_all(&peers[i], seed);
    fail_from = fail_to = 0;
    for (unsigned i = 0; i < peer_count; i++)
        peers[i].fd = -1, peers[i].closed = true;
    close_all();
    began = now;
    while (objects && now - began < 1800 * 1000)
        world_step(-1);
    if (objects)
        host_failed(__FILE__, __LINE__, "seed %u: %u objects are left", seed, objects);
    all_has_gone();
    on_sent = 0;
}

static unsigned seeds(unsigned few)
{
    const char *n = getenv("TCP_SEEDS");
    return n ? (unsigned)atoi(n) : few;
}

HOST_TEST(bytes_arrive_over_any_wire)
{
    const char *one = getenv("TCP_SEED");
    for (uint32_t seed = one ? (uint32_t)atoi(one) : 0; seed < seeds(TCP_FEW); seed++)
        transfers(seed, 1 + seed % 3, seed % 5 ? 8000 : STREAM_MOST);
}

/*
 * No socket stays without a descriptor; a connection that gets none waits on, with its received bytes, or ends with
 * its listener.
 */
HOST_TEST(without_descriptors_there_are_no_sockets)
{
    for (unsigned what = 0; what < 4; what++) {
        prepare(1000);
        c.listening = k_listen(7, 3);
        no_files = what < 2;
        files_most = what < 2 ? FILES : 1;
        CHECK_EQUAL(k_socket(), what < 2 ? -ENOMEM : -EMFILE);
        say(S, PEER(0), 0, 0);
        c.iss = logged[log_first % LOGGED].seq;
        EXPECT(S | A, US(0), PEER(1), 0);
        say(A, PEER(1), US(1), 0);
        for (unsigned again = 0; again < 3; again++)
            CHECK_EQUAL(k_accept(c.listening), what < 2 ? -ENOMEM : -EMFILE);
        EXPECT_NOTHING();
        CHECK(k_poll(c.listening) & USER_POLLIN);
        no_files = false;
        files_most = FILES;
        if (what % 2) {
            say(A, PEER(1), US(1), 10);
            c.fd = k_accept(c.listening);
            CHECK(c.fd >= 0);
            CHECK_EQUAL(k_read(c.fd, 100), 10);
            CHECK_EQUAL(k_accept(c.listening), -EAGAIN);
        } else {
            k_close(c.listening);
            last = logged[log_first++ % LOGGED];
            CHECK(last.flags & R);
        }
        ended();
    }
}

/* In either order, two sockets share a port only if neither has it for any address, and their addresses differ. */
HOST_TEST(two_have_a_port_only_for_different_addresses)
{
    static const uint32_t own[] = {0, OUR_IP, 0x7f000001u, 0x7f000002u};
    begin();
    for (unsigned n = 0; n < 32; n++) {
        uint32_t first = own[n % 4], second = own[n / 4 % 4];
        int fd[2] = {k_socket(), k_socket()};
        CHECK_EQUAL(CALL(sys_bind, (uint32_t)fd[0], address(first, 7), sizeof(struct user_sockaddr_in)), 0);
        if (n / 16)
            CHECK_EQUAL(CALL(sys_listen, (uint32_t)fd[0], 1), 0);
        int should = !first || !second || first == second ? -EADDRINUSE : 0;
        CHECK_EQUAL(CALL(sys_bind, (uint32_t)fd[1], address(second, 7), sizeof(struct user_sockaddr_in)), should);
        close_all();
    }
    all_has_gone();
}

static unsigned connects_in; /* steps of a thread until another one connects */

static void others_connect(void)
{
    if (depth || on_designated || master || host_locks_held || sync_hart()->level || !connects_in || --connects_in)
        return;
    depth++;
    k_connect(c.fd, c.peer);
    depth--;
}

/* A SYN finds a socket that is bound, and before it has the lock that socket asks another peer for a connection. */
HOST_TEST(a_segment_that_found_one_that_was_bound_is_not_of_its_connection)
{
    for (unsigned step = 1; step < 40; step++) {
        prepare(1000);
        c.fd = k_socket();
        CHECK_EQUAL(CALL(sys_bind, (uint32_t)c.fd, address(0, c.kernel), sizeof(struct user_sockaddr_in)), 0);
        uint16_t peer = c.peer;
        connects_in = step;
        struct seg other = {.flags = S, .seq = 77, .kernel = c.kernel, .peer = (uint16_t)(peer + 1), .window = 100};
        host_before_write = host_section_begins = others_connect;
        input(&other);
        host_before_write = host_section_begins = 0;
        if (connects_in) /* the segment took no more steps */
            CHECK_EQUAL(k_connect(c.fd, c.peer), -EINPROGRESS);
        while (checked(0), log_first != log_end) {
            last = logged[log_first++ % LOGGED];
            if (last.peer == peer)
                c.iss = last.seq;
            else
                CHECK(last.flags & R);
        }
        CHECK_EQUAL(state(), TCPS_SYN_SENT);
        say(S | A, PEER(0), US(1), 0);
        EXPECT(A, US(1), PEER(1), 0);
        ended();
    }
}

/* Whatever could not be sent while memory was out is sent once there is some, without another event. */
HOST_TEST(what_memory_was_out_for_goes_later)
{
    for (unsigned what = 0; what < 5; what++) {
        established(STARTS[what], true);
        struct inpcb *inp = &tcb_at(c.fd)->inp;
        uint32_t flags = A, length = 0;
        fail_from = 0;
        if (what == 0) { /* a SYN */
            c.kernel++;
            c.peer = 3000;
            fail_to = 0;
            c.fd = k_socket();
            CHECK_EQUAL(CALL(sys_bind, (uint32_t)c.fd, address(0, c.kernel), sizeof(struct user_sockaddr_in)), 0);
            fail_to = UINT64_MAX;
            CHECK_EQUAL(k_connect(c.fd, c.peer), -EINPROGRESS);
            flags = S;
        } else if (what == 1) { /* bytes, the end, an acknowledgement */
            CHECK_EQUAL(k_write(c.fd, 100), 100);
            log_first = log_end;
            say(A, PEER(1), US(101), 0);
            fail_to = 1;
            static struct mbuf *m;
            m = m_get(50, M_USER);
            CHECK(m);
            m->m_len = length = 50;
            memset(m->m_data, 1, 50);
            so_lock(&socket_at(c.fd)->lock);
            sb_append(&socket_at(c.fd)->snd, m);
            so_unlock(&socket_at(c.fd)->lock);
            fail_to = UINT64_MAX;
            pcb_lock(&inp->lock);
            tcp_output(tcb_at(c.fd));
            pcb_unlock(&inp->lock);
        } else if (what == 2) {
            fail_to = UINT64_MAX;
            k_close(c.fd);
            flags = F | A;
        } else if (what == 3) { /* an answer to a segment out of order, which needs memory itself */
            uint64_t only = allocations + OF_A_FRAME;
            fail_from = only;
            fail_to = UINT64_MAX;
            say(A, PEER(100), US(1), 10);
        } else { /* an answer to a SYN, acknowledged before there is memory */
            c.peer = 3001;
            say(S, PEER(0), 0, 0);
            c.iss = logged[log_first % LOGGED].seq;
            EXPECT(S | A, US(0), PEER(1), 0);
            fail_to = UINT64_MAX;
            advance(3500);
            fail_to = 0;
            say(A, PEER(1), US(1), 0);
            int fd = k_accept(c.listening);
            CHECK(fd >= 0);
            CHECK_EQUAL(k_write(fd, 10), 10);
            EXPECT(A, US(1), PEER(1), 10);
            ended();
            continue;
        }
        EXPECT_NOTHING();
        fail_to = fail_from = 0;
        advance(4000);
        CHECK(log_first != log_end);
        last = logged[log_first % LOGGED];
        CHECK_EQUAL(last.flags & ~P, flags);
        CHECK_EQUAL(last.length, length);
        ended();
    }
}

static unsigned slept;

static void peer_acts(void)
{
    switch (slept++) {
    case 0:
        c.iss = logged[log_first % LOGGED].seq;
        EXPECT(S, US(0), 0, 0);
        say(S | A, PEER(0), US(1), 0);
        EXPECT(A, US(1), PEER(1), 0);
        break;
    case 1: say(A, PEER(1), US(1), 10); break;
    case 2:
        say(A, PEER(11), US(1), 0); /* nothing new: it waits on */
        while (log_first != log_end)
            last = logged[log_first++ % LOGGED];
        say(A, PEER(11), last.seq + last.length, 0);
        break;
    case 3: say(R, PEER(11), 0, 0); break;
    default: CHECK(slept < 100); advance(SLOW_MS);
    }
    log_first = log_end;
}

/* A blocking descriptor: calls wait, with no lock held, and end with the connection. */
HOST_TEST(calls_wait_for_what_they_ask_for)
{
    sleeps = peer_acts;
    prepare(1000);
    c.fd = CALL(sys_socket, USER_AF_INET, USER_SOCK_STREAM, 0);
    CHECK_EQUAL(CALL(sys_bind, (uint32_t)c.fd, address(0, c.kernel), sizeof(struct user_sockaddr_in)), 0);
    CHECK_EQUAL(k_connect(c.fd, c.peer), 0);
    CHECK_EQUAL(slept, 1);
    CHECK_EQUAL(k_read(c.fd, 100), 10);
    CHECK_EQUAL(slept, 2);
    CHECK(k_write(c.fd, USER_MOST) >= (int)SO_BUFFER); /* what it had taken before the reset */
    CHECK_EQUAL(slept, 4);
    CHECK_EQUAL(k_read(c.fd, 10), -ECONNRESET);
    CHECK_EQUAL(k_write(c.fd, 10), -EPIPE);
    ended();
}

static int k_receive(int fd, uint32_t n, uint32_t flags)
{
    return CALL(sys_recvfrom, (uint32_t)fd, USER_AT + USER_DATA, n, flags);
}

static uint32_t comes, came; /* bytes that come while a thread waits: in all, and so far */

static void more_comes(void)
{
    checked(0); /* designated harts go on */
    while (log_first != log_end)
        last = logged[log_first++ % LOGGED];
    if (came == comes) {
        say(F | A, PEER(1 + came), US(1), 0);
        return;
    }
    uint32_t room = last.ack + last.window - PEER(1 + came);
    CHECK(room); /* a thread that waits for more has announced room for it */
    while (room && came < comes) { /* fills all of it */
        uint32_t n = comes - came < 700 ? comes - came : 700;
        n = n < room ? n : room;
        say(A, PEER(1 + came), US(1), n);
        came += n;
        room -= n;
    }
}

static void has_come(uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        CHECK_EQUAL(user[USER_DATA + i], (uint8_t)((1 + first + i) * 7));
    memset(user + USER_DATA, 0, n);
}

/* recv: MSG_PEEK leaves the bytes, MSG_DONTWAIT does not wait, MSG_WAITALL gets all up to the end. */
HOST_TEST(who_receives_looks_waits_for_all_or_not_at_all)
{
    established(1000, true);
    files[c.fd]->flags = 0;
    sleeps = 0;
    CHECK_EQUAL(k_receive(c.fd, 10, USER_MSG_DONTWAIT), -EAGAIN);
    CHECK_EQUAL(k_receive(c.fd, 10, USER_MSG_DONTWAIT | USER_MSG_PEEK), -EAGAIN);
    CHECK_EQUAL(k_receive(c.fd, 10, USER_MSG_NOSIGNAL), -EOPNOTSUPP);
    say(A, PEER(1), US(1), 1460);
    say(A, PEER(1461), US(1), 1460);
    say(A, PEER(2921), US(1), 80);
    for (uint32_t n = 1; n < 4000; n += 37) {
        uint32_t is = n < 3000 ? n : 3000;
        CHECK_EQUAL(k_receive(c.fd, n, USER_MSG_PEEK), (int)is);
        has_come(0, is);
    }
    CHECK_EQUAL(CALL(sys_recvfrom, (uint32_t)c.fd, 4, 10, USER_MSG_PEEK), -EFAULT);
    CHECK_EQUAL(k_receive(c.fd, 1000, 0), 1000);
    has_come(0, 1000);
    CHECK_EQUAL(k_receive(c.fd, 4000, USER_MSG_WAITALL | USER_MSG_DONTWAIT), 2000);
    has_come(1000, 2000);
    sleeps = more_comes;
    came = 3000;
    comes = 30000;
    CHECK_EQUAL(k_receive(c.fd, 50, USER_MSG_PEEK), 50);
    has_come(3000, 50);
    CHECK_EQUAL(k_receive(c.fd, 20000, USER_MSG_WAITALL), 20000); /* more than the buffer holds */
    has_come(3000, 20000);
    CHECK_EQUAL(k_receive(c.fd, 20000, USER_MSG_WAITALL), 7000); /* and then the end */
    has_come(23000, 7000);
    sleeps = 0;
    CHECK_EQUAL(k_receive(c.fd, 10, USER_MSG_WAITALL), 0);
    CHECK_EQUAL(k_receive(c.fd, 10, USER_MSG_PEEK), 0);
    ended();
}

static unsigned limits_over; /* how often a limit ended a wait */

static void time_is_over(void)
{
    checked(0);
    CHECK(limited);
    limited->over = true;
    limits_over++;
}

static void k_limit(int fd, uint32_t name, int64_t seconds, int32_t microseconds)
{
    struct user_timeval t = {.seconds = seconds, .microseconds = microseconds};
    memcpy(user + 16, &t, sizeof t);
    CHECK_EQUAL(CALL(sys_setsockopt, (uint32_t)fd, USER_SOL_SOCKET, name, USER_AT + 16, sizeof t), 0);
}

/* SO_RCVTIMEO and SO_SNDTIMEO: EAGAIN after the time, the part that was moved before, or EINPROGRESS of connect. */
HOST_TEST(a_limit_ends_a_wait)
{
    limits_over = 0;
    established(1000, true);
    files[c.fd]->flags = files[c.listening]->flags = 0;
    sleeps = time_is_over;
    k_limit(c.listening, USER_SO_RCVTIMEO, 2, 5000);
    CHECK_EQUAL(CALL(sys_accept, (uint32_t)c.listening, 0, 0), -EAGAIN);
    CHECK_EQUAL(limited_to, 2006);
    k_limit(c.fd, USER_SO_RCVTIMEO, 0, 1);
    CHECK_EQUAL(k_read(c.fd, 10), -EAGAIN);
    CHECK_EQUAL(limited_to, 1);
    say(A, PEER(1), US(1), 10);
    CHECK_EQUAL(k_receive(c.fd, 20, USER_MSG_WAITALL), 10);
    CHECK_EQUAL(limits_over, 3);
    k_limit(c.fd, USER_SO_RCVTIMEO, -1, 0);
    CHECK_EQUAL(k_read(c.fd, 10), -EAGAIN);
    CHECK_EQUAL(k_option(c.fd, USER_SOL_SOCKET, USER_SO_RCVLOWAT, 3), 0);
    say(A, PEER(11), US(1), 2);
    CHECK_EQUAL(k_poll(c.fd), USER_POLLOUT);
    CHECK_EQUAL(k_receive(c.fd, 9, USER_MSG_PEEK), 2);
    say(A, PEER(13), US(1), 1);
    CHECK_EQUAL(k_poll(c.fd), USER_POLLIN | USER_POLLOUT);
    CHECK_EQUAL(k_read(c.fd, 9), 3);
    CHECK_EQUAL(limits_over, 3); /* none of these waited */
    k_limit(c.fd, USER_SO_SNDTIMEO, 1, 0);
    CHECK_EQUAL(k_write(c.fd, USER_MOST), (int)SO_BUFFER);
    CHECK_EQUAL(k_write(c.fd, USER_MOST), -EAGAIN);
    CHECK_EQUAL(limits_over, 5);
    log_first = log_end;
    ended();
    prepare(1000);
    c.fd = CALL(sys_socket, USER_AF_INET, USER_SOCK_STREAM, 0);
    k_limit(c.fd, USER_SO_SNDTIMEO, 1, 0);
    CHECK_EQUAL(k_connect(c.fd, c.peer), -EINPROGRESS);
    CHECK_EQUAL(k_connect(c.fd, c.peer), -EALREADY);
    CHECK_EQUAL(limits_over, 7);
    log_first = log_end;
    ended();
}

static void k_linger(int fd, int on, int seconds)
{
    struct user_linger linger = {on, seconds};
    memcpy(user + 16, &linger, sizeof linger);
    CHECK_EQUAL(CALL(sys_setsockopt, (uint32_t)fd, USER_SOL_SOCKET, USER_SO_LINGER, USER_AT + 16, sizeof linger), 0);
}

static void acknowledges_in_parts(void)
{
    checked(0);
    say(A, PEER(1), US(++slept == 1 ? 101 : 102), 0); /* the data, then the end, too */
    CHECK(slept <= 2);
}

static bool the_wait_ends(void)
{
    return true;
}

/* SO_LINGER: with no time, close resets; else it waits until the peer has the end, or the time is over. */
HOST_TEST(who_lingers_resets_or_waits_for_the_last_acknowledgement)
{
    limits_over = 0;
    for (unsigned what = 0; what < 5; what++) { /* 0: resets; 1: waits; 2: in vain; 3: ends; 4: has it switched off */
        established(1000, what & 1);
        k_linger(c.fd, 1, what ? 3 : 0);
        if (what == 4)
            k_linger(c.fd, 0, 7);
        CHECK_EQUAL(k_write(c.fd, 100), 100);
        log_first = log_end;
        slept = 0;
        sleeps = what == 1 ? acknowledges_in_parts : what == 2 ? time_is_over : 0;
        limit_wait_ends = what == 3 ? the_wait_ends : no_wait_ends;
        limited_to = 0;
        CHECK_EQUAL(k_close(c.fd), 0);
        CHECK_EQUAL(limited_to, what == 1 || what == 2 ? 3001 : 0);
        CHECK_EQUAL(slept, what == 1 ? 2 : 0);
        CHECK_EQUAL(limits_over, what >= 2);
        last = logged[log_first++ % LOGGED];
        CHECK_EQUAL(last.flags & (R | F), what ? F : R);
        CHECK_EQUAL(last.seq + last.length, US(101));
        log_first = log_end;
        if (what)
            say(R, PEER(1), 0, 0);
        ended();
    }
}

HOST_TEST(who_sends_to_nobody_gets_the_signal_unless_it_says_no)
{
    established(1000, true);
    CHECK_EQUAL(CALL(sys_sendto, (uint32_t)c.fd, USER_AT + USER_DATA, 10, USER_MSG_DONTWAIT), 10);
    EXPECT(A, US(1), PEER(1), 10);
    CHECK_EQUAL(CALL(sys_sendto, (uint32_t)c.fd, USER_AT + USER_DATA, 10, USER_MSG_PEEK), -EOPNOTSUPP);
    files[c.fd]->flags = 0;
    int n;
    while ((n = CALL(sys_sendto, (uint32_t)c.fd, USER_AT + USER_DATA, 5000, USER_MSG_DONTWAIT)) > 0)
        ;
    CHECK_EQUAL(n, -EAGAIN);
    CHECK_EQUAL(k_shutdown(c.fd, USER_SHUT_WR), 0);
    broken_pipes = 0;
    CHECK_EQUAL(CALL(sys_sendto, (uint32_t)c.fd, USER_AT + USER_DATA, 10, USER_MSG_NOSIGNAL), -EPIPE);
    CHECK_EQUAL(broken_pipes, 0);
    CHECK_EQUAL(CALL(sys_sendto, (uint32_t)c.fd, USER_AT + USER_DATA, 10, 0), -EPIPE);
    CHECK_EQUAL(broken_pipes, 1);
    ended();
}

/* A second call waits for the connection that the first, interrupted one began. */
HOST_TEST(who_asks_again_waits_for_the_connection)
{
    sleeps = peer_acts;
    slept = 0;
    prepare(1000);
    asks_peer();
    CHECK_EQUAL(k_connect(c.fd, c.peer), -EALREADY);
    files[c.fd]->flags = 0;
    CHECK_EQUAL(k_connect(c.fd, c.peer), 0);
    CHECK_EQUAL(slept, 1);
    CHECK_EQUAL(k_connect(c.fd, c.peer), -EISCONN);
    ended();
}

HOST_TEST(all_arrives_whatever_memory_is_out_meanwhile)
{
    for (unsigned turn = 0; turn < 3; turn++) {
        failures = (const uint64_t[]){1, 4, 10}[turn];
        for (failing = 0; failing < 2 * TCP_FEW * host_times(); failing += turn ? 7 : 1)
            transfers((uint32_t)failing % 7 * 1000 + turn, 2, 3000);
    }
}

HOST_TEST(bytes_arrive_though_others_send_to_the_same_ports)
{
    flooded = true;
    for (uint32_t seed = 0; seed < seeds(TCP_FEW); seed++)
        transfers(seed, 1 + seed % 3, 8000);
}

HOST_TEST(connections_end_whoever_goes_when_and_whatever_is_cut)
{
    may_fail = true;
    for (uint32_t seed = 0; seed < seeds(TCP_FEW); seed++)
        transfers(seed, 1 + seed % PEERS, 8000);
}

/*
 * What other threads do while one is about to take a lock and holds none, as it may be preempted there or the others
 * run on other harts: a frame comes, a timer runs.
 */
static void others_run(void)
{
    if (depth || on_designated || master || host_locks_held || sync_hart()->level || threads < 2 || !chance(50))
        return;
    depth++;
    if (random_below(&dice, 4))
        frames_arrive();
    else
        go_round(random_below(&dice, 2));
    depth--;
}

HOST_TEST(bytes_arrive_whatever_others_do_between)
{
    host_before_write = host_section_begins = others_run;
    for (uint32_t seed = 0; seed < seeds(TCP_FEW); seed++) {
        may_fail = seed % 2;
        transfers(seed, 1 + seed % PEERS, 5000);
    }
}

/* Segments of any content ------------------------------------------------------------------------------------------ */

static struct seg answered; /* the last SYN that the kernel has answered */

static void forget(const struct seg *s)
{
    if (s->flags & S && s->flags & A)
        answered = *s;
}

static int hostile_listening;
static unsigned hostile_accepted, hostile_in[TCPS_TIME_WAIT + 1], hostile_read;

/* Any known options, with values near what the connection expects, in any order. */
static void hostile_options(struct seg *s, const struct tcpcb *tp)
{
    uint32_t una = tp ? tp->snd_una : random_next(&dice), sent = tp ? tp->snd_max - una : 0;
    bool usual = random_below(&dice, 4); /* as a participant's */
    if (usual && tp && tp->times) {
        add_option(s, 1 << 24 | 1 << 16 | 0x080a, 4);
        add_option(s, tp->ts_recent + random_below(&dice, 3), 4);
        add_option(s, tp->time_offset + random_next(&dice) % 16, 4);
    }
    while (s->option_bytes <= 20 && random_below(&dice, 3)) {
        switch (random_below(&dice, 6)) {
        case 0: add_option(s, 0x0303 << 8 | random_below(&dice, 256), 3); break;
        case 1: add_option(s, 0x0402, 2); break;
        case 2:
            add_option(s, 0x080a, 2);
            add_option(s, (tp ? tp->ts_recent : 0) + random_below(&dice, 5) - 2, 4);
            add_option(s, random_next(&dice), 4);
            break;
        case 3: add_option(s, random_below(&dice, 256), 1); break;
        case 4: add_option(s, 1, 1); break;
        default:
            add_option(s, 0x0512, 2);
            for (unsigned i = 0, far = random_below(&dice, 4); i < 4; i++)
                add_option(s,
                           far ? una + random_below(&dice, sent + 3) - 1
                               : una + (random_below(&dice, 4) << 30) + random_below(&dice, 5) - 2,
                           4);
        }
    }
    while (s->option_bytes % 4)
        add_option(s, 0, 1);
}

/* Near what some connection expects, or not at all. */
static void hostile_segment(void)
{
    struct seg s = {.kernel = 7,
                    .peer = (uint16_t)(1 + random_below(&dice, 40)),
                    .seq = random_next(&dice),
                    .ack = random_next(&dice)};
    int fd = (int)random_below(&dice, FILES);
    struct tcpcb *tp = files[fd] ? tcb_at(fd) : 0;
    if (!random_below(&dice, 4)) {
        tp = 0;
        s.kernel = answered.kernel;
        s.peer = answered.peer;
        s.seq = answered.ack + random_below(&dice, 2);
        s.ack = answered.seq + 1 - (random_below(&dice, 8) == 0);
    }
    if (tp && tp->inp.fport) {
        hostile_in[tp->state]++;
        s.kernel = tp->inp.lport;
        s.peer = tp->inp.fport;
        s.seq = tp->rcv_nxt + random_below(&dice, 200) - (random_below(&dice, 2) ? 100 : random_below(&dice, 200));
        s.ack = tp->snd_una + random_below(&dice, tp->snd_max - tp->snd_una + 2);
        if (random_below(&dice, 2))
            s.seq = tp->rcv_nxt;
        if (random_below(&dice, 2))
            s.ack = tp->snd_max;
    }
    static const uint8_t usual[] = {A, A, A, A | P, S, S, S | A, F | A, R, F | S, A | P | F};
    s.flags = random_below(&dice, 8) ? usual[random_below(&dice, sizeof usual)] : random_below(&dice, 256);
    s.window = random_below(&dice, 3) ? random_below(&dice, 65536) : random_below(&dice, 3);
    s.length = random_below(&dice, 3) ? 0 : random_below(&dice, random_below(&dice, 2) ? 20 : MSS - 43);
    s.mss = random_below(&dice, 4) ? 0 : 1 + random_below(&dice, 65535);
    if (random_below(&dice, 2))
        hostile_options(&s, tp);
    uint32_t length = make_frame(&s);
    if (!random_below(&dice, 4)) {
        for (unsigned n = 1 + random_below(&dice, 4); n; n--)
            frame_tcp[random_below(&dice, 28)] = (uint8_t)random_next(&dice);
        if (random_below(&dice, 8)) {
            put16(frame_tcp, s.peer);
            put16(frame_tcp + 2, s.kernel);
            make_sums(length - ETHER_HEADER - IP_HEADER);
        }
    }
    input_frame(length);
}

/* The kept selective acknowledgements: ranges in order, with gaps, of numbers in flight. */
static void check_sacked(void)
{
    for (int fd = 0; fd < FILES; fd++) {
        const struct tcpcb *tp = files[fd] ? tcb_at(fd) : 0;
        uint32_t end = 0;
        for (uint32_t i = 0; tp && i < tp->sacked_count; i++) {
            uint32_t first = tp->sacked[i].first - tp->snd_una;
            CHECK(first > end && first < tp->snd_max - tp->snd_una);
            end = tp->sacked[i].end - tp->snd_una;
            CHECK(end > first && end <= tp->snd_max - tp->snd_una);
        }
    }
}

static void user_does_anything(void)
{
    int fd = (int)random_below(&dice, FILES);
    if (!random_below(&dice, 8))
        fd = k_accept(hostile_listening), hostile_accepted += fd >= 0;
    if (fd < 0)
        return;
    if (!files[fd]) {
        if (random_below(&dice, 4))
            return;
        fd = k_socket();
        if (fd >= 0)
            k_connect(fd, 1 + random_below(&dice, 40));
        return;
    }
    switch (random_below(&dice, fd == hostile_listening ? 5 : 8)) {
    case 0:
    case 1: hostile_read += k_read(fd, 1 + random_below(&dice, 5000)) > 0; break;
    case 2: CALL(sys_getpeername, (uint32_t)fd, USER_AT, USER_AT + 32); break;
    case 3: k_write(fd, 1 + random_below(&dice, 5000)); break;
    case 4: k_connect(fd, 1 + random_below(&dice, 40)); break;
    case 5: k_shutdown(fd, random_below(&dice, 4)); break;
    case 6: k_poll(fd); break;
    default: k_close(fd);
    }
}

static void others_are_hostile(void)
{
    if (depth || on_designated || master || host_locks_held || sync_hart()->level || threads < 2 || !chance(50))
        return;
    depth++;
    switch (random_below(&dice, 4)) {
    case 0: go_round(random_below(&dice, 2)); break;
    case 1: user_does_anything(); break;
    default: hostile_segment();
    }
    depth--;
}

HOST_TEST(segments_of_any_content_take_nothing_down_and_leave_nothing)
{
    begin();
    on_sent = forget;
    dice = random_from(11, 11);
    for (unsigned turn = 0; turn < (TCP_FEW / 5 + 20) * host_times(); turn++) {
        host_before_write = host_section_begins = turn % 2 ? others_are_hostile : 0;
        hostile_listening = k_listen(7, 1 + random_below(&dice, 20));
        for (unsigned n = 0; n < 2000; n++) {
            bool out = turn % 4 == 3 && random_below(&dice, 4) == 0;
            fail_from = allocations;
            fail_to = out ? UINT64_MAX : fail_from;
            hostile_segment();
            check_sacked();
            if (!random_below(&dice, 3))
                user_does_anything();
            if (!random_below(&dice, 20))
                advance(random_below(&dice, random_below(&dice, 100) ? 300 : 30000));
            memory_is_bounded(FILES + 40);
        }
        fail_to = fail_from;
        host_before_write = host_section_begins = 0;
        close_all();
        for (unsigned s = 0; s < 1800 && objects; s++)
            advance(1000);
        all_has_gone();
    }
    CHECK(hostile_accepted && hostile_read);
    for (unsigned s = TCPS_SYN_SENT; s <= TCPS_TIME_WAIT; s++)
        CHECK(hostile_in[s]);
}

#include "test/host/tcp_races.h"
