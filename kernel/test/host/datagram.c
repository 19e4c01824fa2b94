/*
 * Datagram sockets, frame by frame: which socket gets a datagram, against a model of sockets; what is sent; frames of
 * any content; no memory. Sources: net/mbuf.c net/net.c net/arp.c net/ip.c net/ip_reassembly.c
 * net/icmp.c net/udp.c net/in_cksum.c net/ether_output.c lock/simple_lock.c net/waiting.c lib/printf.c
 * net/route.c net/ip_options.c. Options:
 * ZONE_DEBUG=0
 * TCPIP_FILE="net/policy/connection.h"
 */
#include "net/datagram.c"

#include <stdlib.h>

#include "lib/random.h"
#include "test/host/host.h"
#include "test/host/objects.h"
#include "test/host/limits.h"
#include "test/host/peer.h"
#include "test/host/pools.h"

#define SOCKETS 12
#define WAITING_MOST 600
#define HOSTILE_FRAMES 100000 /* times HOST_TIMES */

const bool if_ether_in_threads = true; /* though TCP is not part of this unit */
uint32_t clock_hz(void)
{
    return 1000;
}

static struct random dice;
static unsigned wakeups;

uint64_t cycles64(void)
{
    static uint64_t now;
    return now += 1000000;
}

uint32_t in_pcb_hash(const struct inpcb *inp, uint32_t what)
{
    return inp->faddr * 31 + inp->fport * 7 + what;
}

void tcp_input(struct mbuf *m, uint32_t header)
{
    (void)header;
    m_free(m);
}

static uint32_t tcp_is_told;

void tcp_told(const struct told *of)
{
    tcp_is_told += 1 + (get32(of->header) & 0) + (get32(of->header + 4) & 0); /* all promised bytes are there */
}

void poll_wakeup(void)
{
    CHECK_EQUAL(host_locks_held, 0);
    wakeups++;
}

void thread_wakeup(const void *channel)
{
    (void)channel;
}

int if_ioctl(struct vm_map *map, uint32_t request, uint32_t at)
{
    (void)map, (void)request, (void)at;
    return -ENOTTY;
}

static int (*sleeps)(void); /* what happens while a thread waits: whether it is interrupted */

int thread_sleep_interruptibly(const void *channel, struct simple_lock *interlock)
{
    (void)channel;
    CHECK(sleeps);
    simple_unlock(interlock);
    CHECK_EQUAL(host_locks_held, 0);
    unsigned level = sync_hart()->level;
    sync_hart()->level = SPL_NONE;
    int interrupted = sleeps();
    sync_hart()->level = level;
    simple_lock(interlock);
    return interrupted;
}

/* User mode's memory, from address 0x1000 on. */
#define USER_AT 0x1000u
static uint8_t user[IP_MOST + 10];

static bool is_users(uint32_t at, uint32_t n)
{
    return at >= USER_AT && at - USER_AT <= sizeof user && n <= sizeof user - (at - USER_AT);
}

int copyout(struct vm_map *map, uint32_t to, const void *from, uint32_t n)
{
    (void)map;
    CHECK_EQUAL(host_locks_held, 0); /* a page fault sleeps */
    if (!is_users(to, n))
        return -EFAULT;
    memcpy(user + (to - USER_AT), from, n);
    return 0;
}

int transfer_in(struct transfer *t, void *to, uint32_t n)
{
    CHECK_EQUAL(host_locks_held, 0);
    if (!is_users(t->at, n))
        return -EFAULT;
    memcpy(to, user + (t->at - USER_AT), n);
    t->at += n;
    t->left -= n;
    return 0;
}

int transfer_out(struct transfer *t, const void *from, uint32_t n)
{
    int error = copyout(0, t->at, from, n);
    t->at += n;
    t->left -= n;
    return error;
}

/* The wire, and the loop-back ------------------------------------------------------------------------------------- */

static uint32_t sum_of(const uint8_t *p, uint32_t length, uint32_t sum)
{
    for (uint32_t i = 0; i < length; i++)
        sum += i % 2 ? p[i] : p[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

static struct mbuf *last; /* the last one sent; the caller of `sent_one` frees it */
static unsigned sent;

static uint8_t sent_data[IP_MOST] __attribute__((aligned(8))); /* of the last datagram, whatever fragments it had */
static uint32_t sent_length;
static bool sent_more;

/* Fragments are sent in order, each but the last as long as possible. */
static void keep_data(const uint8_t *ip)
{
    uint32_t at = (get16(ip + 6) & IP_OFFSET) * 8, n = get16(ip + 2) - IP_HEADER;
    CHECK_EQUAL(sum_of(ip, IP_HEADER, 0), 0xffff);
    CHECK(at == (sent_more ? sent_length : 0)); /* each follows one with "more fragments" */
    sent_more = get16(ip + 6) & IP_MORE;
    CHECK(n == IP_PART || !sent_more);
    memcpy(sent_data + at, ip + IP_HEADER, n);
    sent_length = at + n;
}

static void keep(struct mbuf *m)
{
    CHECK(m->m_data >= m_begin(m) && m->m_data + m->m_len <= m_begin(m) + m_size(m));
    CHECK(m->m_len <= ETHER_HEADER + IP_MTU);
    if (get16(m->m_data + 12) == ETHERTYPE_IP)
        keep_data(m->m_data + ETHER_HEADER);
    if (last)
        m_free(last);
    last = m;
    sent++;
}

static void receive(struct mbuf *m)
{
    ip_input(m);
    CHECK_EQUAL(host_locks_held, 0);
}

void loop_output(struct mbuf *m)
{
    memset(m->m_data - ETHER_HEADER, 0, ETHER_HEADER);
    receive(m);
}

static uint8_t packet[IP_MTU + 200] __attribute__((aligned(8)));

/* A packet with a datagram; returns its length. `sums`: the datagram has a checksum. */
static uint32_t make(uint32_t from, uint32_t fport, uint32_t to, uint32_t lport, uint32_t bytes, bool sums)
{
    uint32_t length = UDP_HEADER + bytes;
    uint8_t *udp = packet + IP_HEADER;
    memset(packet, 0, IP_HEADER + UDP_HEADER);
    packet[0] = 0x45;
    put16(packet + 2, IP_HEADER + length);
    packet[8] = 9;
    packet[9] = IPPROTO_UDP;
    put32(packet + 12, from);
    put32(packet + 16, to);
    put16(packet + 10, ~sum_of(packet, IP_HEADER, 0) & 0xffff);
    put16(udp, fport);
    put16(udp + 2, lport);
    put16(udp + 4, length);
    if (sums) {
        uint32_t sum = ~sum_of(udp, length, sum_of(packet + 12, 8, IPPROTO_UDP + length)) & 0xffff;
        put16(udp + 6, sum ? sum : 0xffff);
    }
    return IP_HEADER + length;
}

/* As the interface passes it on: with its Ethernet header before it, padded to the least length. */
static void input(uint32_t length)
{
    struct mbuf *m = m_get(IP_AT + (length < 46 ? 46 : length), M_FRAME);
    if (!m)
        return;
    m->m_data += 2;
    memset(m->m_data, 0, ETHER_HEADER + 46);
    put16(m->m_data + 12, ETHERTYPE_IP);
    m->m_data[5] = 2;
    m->m_data += ETHER_HEADER;
    memcpy(m->m_data, packet, length);
    m->m_len = length < 46 ? 46 : length;
    receive(m);
}

static void begin(uint64_t seed)
{
    net_own = host_address;
    if_transmit = keep;
    arp_init();
    datagram_start();
    dice = random_from(seed, 7);
    peer_says_its_address();
}

static struct file file_for(struct datagram *d, uint32_t flags)
{
    CHECK(d);
    return (struct file){.ops = &datagram_ops, .data = d, .references = 1, .flags = flags};
}

static void all_has_gone(void)
{
    if (last)
        m_free(last);
    last = 0;
    arp_forget();
    ip_forget();
    CHECK_EQUAL(objects, 0);
}

/* Tests ------------------------------------------------------------------------------------------------------------ */

/* A socket in the model: its ends, and the numbers of the datagrams in its queue. */
static struct kept {
    struct file file;
    struct ends ends;
    uint32_t bound; /* its local address */
    uint32_t made; /* its number: of two that match equally, the younger one gets the datagram */
    uint32_t first, count, memory, number[WAITING_MOST], faddr[WAITING_MOST], fport[WAITING_MOST];
} kept[SOCKETS];

static const uint32_t PLACES[] = {0, OUR_IP, 0x7f000001u}, PORT[] = {7, 8, 9};

/* The socket for a datagram, by the documented rule: connected before unconnected, bound to the address before any. */
static struct kept *fitting(uint32_t laddr, uint32_t lport, uint32_t faddr, uint32_t fport)
{
    struct kept *best = 0;
    for (unsigned rank = 0; rank < 4 && !best; rank++)
        for (struct kept *k = kept; k < kept + SOCKETS; k++) {
            const struct ends *e = &k->ends;
            bool connected = e->faddr == faddr && e->fport == fport;
            if (k->file.data && e->lport == lport && (rank < 2 ? connected : !e->fport) &&
                e->laddr == (rank % 2 ? 0 : laddr) && (!best || k->made > best->made))
                best = k;
        }
    return best;
}

/* poll says readable exactly if a read would not wait, and writable always: a datagram waits for nothing. */
static void poll_is_true(struct file *f)
{
    struct transfer t = {.at = USER_AT, .left = sizeof user};
    struct ends from;
    bool error = datagram_ops.poll(f, 0) & USER_POLLERR; /* a look would take it */
    int now = datagram_ops.poll(f, USER_POLLIN | USER_POLLOUT);
    CHECK(now & USER_POLLOUT);
    CHECK_EQUAL(!!(now & USER_POLLIN), error || datagram_receive(f->data, &t, &from, false, true) != -EAGAIN);
}

static uint32_t received_bytes(uint32_t number)
{
    return 4 + number % (number % 3 ? 100 : 1400);
}

/* A short one is in an mbuf alone. */
static uint32_t received_memory(uint32_t number)
{
    return MSIZE + (IP_AT + IP_HEADER + UDP_HEADER + received_bytes(number) > MLEN ? MCLBYTES : 0);
}

static void take_one(struct kept *k)
{
    struct ends from;
    struct transfer t = {.at = USER_AT, .left = sizeof user};
    bool peek = !random_below(&dice, 3);
    int n = datagram_receive(k->file.data, &t, &from, false, peek);
    if (!k->count) {
        CHECK_EQUAL(n, -EAGAIN);
        return;
    }
    uint32_t at = k->first % WAITING_MOST;
    CHECK_EQUAL(n, received_bytes(k->number[at]));
    CHECK_EQUAL(get32(user), k->number[at]);
    CHECK_EQUAL(from.faddr, k->faddr[at]);
    CHECK_EQUAL(from.fport, k->fport[at]);
    if (!peek) {
        k->memory -= received_memory(k->number[at]);
        k->first++;
        k->count--;
    }
}

static void connect_one(struct kept *k)
{
    uint32_t fport = random_below(&dice, 3), faddr = fport ? PEER_IP : 0;
    CHECK_EQUAL(datagram_connect(k->file.data, faddr, fport), 0);
    k->ends.faddr = faddr;
    k->ends.fport = fport;
    k->ends.laddr = k->bound || !faddr ? k->bound : OUR_IP;
    CHECK_EQUAL(datagram_ends(k->file.data).laddr, k->ends.laddr);
}

static void model_step(uint32_t number)
{
    struct kept *k = &kept[random_below(&dice, SOCKETS)];
    if (k->file.data)
        poll_is_true(&k->file);
    switch (random_below(&dice, 12)) {
    case 0:
        if (k->file.data)
            datagram_ops.close(&k->file);
        *k = (struct kept){0};
        break;
    case 1:
        if (k->file.data)
            break;
        *k = (struct kept){.file = file_for(datagram_create(), 0), .made = number};
        int one = 1;
        CHECK_EQUAL(datagram_option(k->file.data, USER_SOL_SOCKET, USER_SO_REUSEADDR, &one, true), 0);
        break;
    case 2: {
        struct ends to = {.laddr = PLACES[random_below(&dice, 3)], .lport = PORT[random_below(&dice, 3)]};
        if (!k->file.data)
            break;
        int should = k->ends.lport ? -EINVAL : 0;
        CHECK_EQUAL(datagram_bind(k->file.data, to.laddr, to.lport), should);
        if (!should) {
            k->ends.laddr = k->bound = to.laddr;
            k->ends.lport = to.lport;
        }
        break;
    }
    case 3:
        if (k->file.data && k->ends.lport)
            connect_one(k);
        break;
    case 4:
    case 5:
    case 6:
        if (k->file.data)
            take_one(k);
        break;
    default: {
        uint32_t lport = PORT[random_below(&dice, 3)], fport = 1 + random_below(&dice, 3);
        uint32_t before = net_counts().udp_no_port, full = net_counts().udp_full;
        put32(packet + IP_HEADER + UDP_HEADER, number);
        input(make(PEER_IP, fport, OUR_IP, lport, received_bytes(number), random_below(&dice, 2)));
        k = fitting(OUR_IP, lport, PEER_IP, fport);
        CHECK_EQUAL(net_counts().udp_no_port - before, !k);
        bool takes = k && (!k->count || k->memory + received_memory(number) <= RECEIVE_BUFFER);
        CHECK_EQUAL(net_counts().udp_full - full, k && !takes);
        if (takes) {
            k->memory += received_memory(number);
            uint32_t at = (k->first + k->count++) % WAITING_MOST;
            k->number[at] = number;
            k->faddr[at] = PEER_IP;
            k->fport[at] = fport;
        }
    }
    }
}

HOST_TEST(a_datagram_goes_to_the_socket_that_fits_it_best)
{
    begin(1);
    for (uint32_t number = 1; number < 60000 * host_times(); number++)
        model_step(number);
    CHECK(net_counts().udp_full && net_counts().udp_no_port && wakeups);
    for (struct kept *k = kept; k < kept + SOCKETS; k++)
        if (k->file.data)
            datagram_ops.close(&k->file);
    all_has_gone();
}

HOST_TEST(what_is_sent_has_headers_that_others_can_read)
{
    begin(2);
    struct file f = file_for(datagram_create(), 0);
    for (uint32_t n = 0; n <= DATAGRAM_MOST + 1;
         n += n < 20 || n % IP_PART < 20 || n % IP_PART > 1460 || n > DATAGRAM_MOST - 20 ? 1 : 53) {
        struct transfer t = {.at = USER_AT, .left = n};
        for (uint32_t i = 0; i < n; i++)
            user[i] = (uint8_t)random_next(&dice);
        unsigned before = sent;
        int done = datagram_send(f.data, &t, PEER_IP, 53);
        CHECK_EQUAL(done, n > DATAGRAM_MOST ? -EMSGSIZE : (int)n);
        CHECK_EQUAL(sent - before, n > DATAGRAM_MOST ? 0 : (UDP_HEADER + n + IP_PART - 1) / IP_PART);
        if (n > DATAGRAM_MOST)
            continue;
        const uint8_t *ip = last->m_data + ETHER_HEADER, *udp = sent_data;
        CHECK_EQUAL(sent_length, UDP_HEADER + n);
        CHECK(get16(udp + 6));
        CHECK_EQUAL(sum_of(udp, UDP_HEADER + n, sum_of(ip + 12, 8, IPPROTO_UDP + UDP_HEADER + n)), 0xffff);
        CHECK_EQUAL(get32(ip + 12), OUR_IP);
        CHECK_EQUAL(get32(ip + 16), PEER_IP);
        CHECK(get16(udp) >= PORT_FIRST);
        CHECK_EQUAL(get16(udp), datagram_ends(f.data).lport); /* one port for all that it sends */
        CHECK_EQUAL(get16(udp + 2), 53);
        CHECK_EQUAL(get16(udp + 4), UDP_HEADER + n);
        CHECK(!memcmp(udp + UDP_HEADER, user, n));
    }
    datagram_ops.close(&f);
    all_has_gone();
}

static int send_to(struct datagram *d, uint32_t ip, uint32_t port)
{
    return datagram_send(d, &(struct transfer){.at = USER_AT, .left = 5}, ip, port);
}

HOST_TEST(where_nothing_goes_the_call_says_so)
{
    begin(3);
    struct file f = file_for(datagram_create(), 0);
    struct datagram *d = f.data;
    CHECK_EQUAL(send_to(d, 0, 0), -EDESTADDRREQ);
    CHECK_EQUAL(send_to(d, PEER_IP, 0), -EINVAL);
    CHECK_EQUAL(send_to(d, 0x08080808, 53), -ENETUNREACH);
    CHECK_EQUAL(send_to(d, 0x0a0000ff, 53), -EACCES);
    CHECK_EQUAL(send_to(d, INADDR_BROADCAST, 53), -EACCES);
    CHECK_EQUAL(datagram_bind(d, PEER_IP, 7), -EADDRNOTAVAIL);
    CHECK_EQUAL(datagram_shut(d, true, true), -ENOTCONN);
    CHECK_EQUAL(datagram_connect(d, 0x08080808, 53), -ENETUNREACH);
    CHECK_EQUAL(datagram_send(d, &(struct transfer){.at = 1, .left = 5}, PEER_IP, 53), -EFAULT);
    memory_is_out = true;
    CHECK_EQUAL(send_to(d, PEER_IP, 53), -ENOBUFS);
    CHECK(!datagram_create());
    memory_is_out = false;
    CHECK_EQUAL(sent, 0);
    CHECK_EQUAL(datagram_connect(d, PEER_IP, 53), 0);
    CHECK_EQUAL(send_to(d, 0, 0), 5);
    CHECK_EQUAL(datagram_shut(d, false, true), 0);
    CHECK_EQUAL(send_to(d, 0, 0), -EPIPE);
    CHECK_EQUAL(datagram_connect(d, 0, 0), 0);
    CHECK_EQUAL(datagram_ends(d).fport, 0);
    int value = 0;
    CHECK_EQUAL(datagram_option(d, USER_SOL_SOCKET, USER_SO_TYPE, &value, false), 0);
    CHECK_EQUAL(value, USER_SOCK_DGRAM);
    CHECK_EQUAL(datagram_option(d, USER_SOL_SOCKET, USER_SO_TYPE, &value, true), -ENOPROTOOPT);
    CHECK_EQUAL(datagram_option(d, IPPROTO_TCP, 1, &value, true), -ENOPROTOOPT);
    datagram_ops.close(&f);
    all_has_gone();
}

HOST_TEST(ports_that_are_chosen_are_all_others)
{
    begin(4);
    static struct file files[200];
    for (unsigned i = 0; i < 200; i++) {
        files[i] = file_for(datagram_create(), 0);
        CHECK_EQUAL(i % 2 ? datagram_bind(files[i].data, 0, 0) : datagram_connect(files[i].data, PEER_IP, 53), 0);
        for (unsigned j = 0; j < i; j++)
            CHECK(datagram_ends(files[j].data).lport != datagram_ends(files[i].data).lport);
    }
    for (unsigned i = 0; i < 200; i++)
        datagram_ops.close(&files[i]);
    all_has_gone();
}

HOST_TEST(two_have_a_port_only_if_both_say_so)
{
    begin(5);
    for (unsigned which = 0; which < 4; which++) {
        struct file a = file_for(datagram_create(), 0), b = file_for(datagram_create(), 0);
        int one = 1;
        if (which & 1)
            CHECK_EQUAL(datagram_option(a.data, USER_SOL_SOCKET, USER_SO_REUSEADDR, &one, true), 0);
        if (which & 2)
            CHECK_EQUAL(datagram_option(b.data, USER_SOL_SOCKET, USER_SO_REUSEADDR, &one, true), 0);
        CHECK_EQUAL(datagram_bind(a.data, 0, 7), 0);
        CHECK_EQUAL(datagram_bind(b.data, OUR_IP, 7), which == 3 ? 0 : -EADDRINUSE);
        datagram_ops.close(&a);
        datagram_ops.close(&b);
    }
    all_has_gone();
}

static struct file waiting;

static int one_comes(void)
{
    memset(packet + IP_HEADER + UDP_HEADER, 'x', 9);
    input(make(PEER_IP, 53, OUR_IP, 7, 9, true));
    return 0;
}

static int receiving_ends(void)
{
    CHECK_EQUAL(datagram_connect(waiting.data, PEER_IP, 53), 0);
    CHECK_EQUAL(datagram_shut(waiting.data, true, false), 0);
    return 0;
}

static int a_signal_comes(void)
{
    return 1;
}

static int both_come(void)
{
    return one_comes(), 1;
}

static int read_some(uint32_t most)
{
    struct transfer t = {.at = USER_AT, .left = most};
    return datagram_ops.read(&waiting, &t);
}

HOST_TEST(a_read_waits_for_a_datagram_the_end_or_a_signal)
{
    begin(6);
    waiting = file_for(datagram_create(), 0);
    CHECK_EQUAL(datagram_bind(waiting.data, 0, 7), 0);
    CHECK_EQUAL(datagram_ops.poll(&waiting, USER_POLLIN | USER_POLLOUT), USER_POLLOUT);
    sleeps = one_comes;
    CHECK_EQUAL(read_some(100), 9);
    CHECK_EQUAL(user[8], 'x');
    one_comes();
    CHECK_EQUAL(datagram_ops.poll(&waiting, USER_POLLIN | USER_POLLOUT), USER_POLLIN | USER_POLLOUT);
    CHECK_EQUAL(read_some(4), 4); /* the rest of it is gone */
    sleeps = a_signal_comes;
    CHECK_EQUAL(read_some(4), -ERESTART);
    sleeps = both_come;
    CHECK_EQUAL(read_some(40), 9); /* a signal loses no datagram */
    one_comes();
    sleeps = a_signal_comes;
    struct transfer bad = {.at = 4, .left = 40};
    CHECK_EQUAL(datagram_ops.read(&waiting, &bad), -EFAULT);
    CHECK_EQUAL(read_some(40), 9); /* nor does a bad address */
    waiting.flags = O_NONBLOCK;
    CHECK_EQUAL(read_some(4), -EAGAIN);
    waiting.flags = 0;
    sleeps = receiving_ends;
    CHECK_EQUAL(read_some(4), 0);
    poll_is_true(&waiting);
    one_comes();
    CHECK_EQUAL(net_counts().udp_full, 1);
    datagram_ops.close(&waiting);
    all_has_gone();
}

static int nobody_has_the_port(void)
{
    uint8_t header[8];
    put16(header, 7);
    put16(header + 2, 53);
    udp_told(&(struct told){OUR_IP, PEER_IP, header, -ECONNREFUSED, true, 0});
    return 0;
}

HOST_TEST(who_is_connected_hears_once_that_nobody_is_there)
{
    begin(9);
    waiting = file_for(datagram_create(), 0);
    CHECK_EQUAL(datagram_bind(waiting.data, 0, 7), 0);
    nobody_has_the_port(); /* it is not connected */
    CHECK_EQUAL(datagram_ops.poll(&waiting, USER_POLLIN), 0);
    CHECK_EQUAL(datagram_connect(waiting.data, PEER_IP, 53), 0);
    sleeps = nobody_has_the_port;
    CHECK_EQUAL(read_some(4), -ECONNREFUSED);
    nobody_has_the_port();
    CHECK_EQUAL(datagram_ops.poll(&waiting, USER_POLLIN), USER_POLLIN | USER_POLLERR);
    CHECK_EQUAL(send_to(waiting.data, 0, 0), -ECONNREFUSED);
    CHECK_EQUAL(send_to(waiting.data, 0, 0), 5);
    nobody_has_the_port();
    int value = 0;
    CHECK_EQUAL(datagram_option(waiting.data, USER_SOL_SOCKET, USER_SO_ERROR, &value, false), 0);
    CHECK_EQUAL(value, ECONNREFUSED);
    nobody_has_the_port();
    one_comes();
    CHECK_EQUAL(read_some(40), 9); /* a received datagram comes first */
    CHECK_EQUAL(datagram_connect(waiting.data, PEER_IP, 54), 0);
    nobody_has_the_port(); /* of another socket */
    CHECK_EQUAL(datagram_ops.poll(&waiting, 0), USER_POLLERR);
    datagram_ops.close(&waiting);
    all_has_gone();
}

HOST_TEST(datagrams_of_any_size_cross_the_loop_back)
{
    begin(7);
    struct file a = file_for(datagram_create(), 0), b = file_for(datagram_create(), O_NONBLOCK);
    waiting = b;
    CHECK_EQUAL(datagram_bind(b.data, 0x7f000001u, 7), 0);
    CHECK_EQUAL(datagram_connect(a.data, 0x7f000001u, 7), 0);
    for (uint32_t n = 0; n <= DATAGRAM_MOST; n += n < 3000 || n > DATAGRAM_MOST - 20 ? 1 : 97) {
        struct transfer t = {.at = USER_AT, .left = n};
        for (uint32_t i = 0; i < n; i++)
            user[i] = (uint8_t)(i * 7 + n);
        CHECK_EQUAL(datagram_ops.write(&a, &t), (int)n);
        memset(user, 0, n);
        uint32_t some = random_below(&dice, 4) ? sizeof user : n / 2;
        CHECK_EQUAL(read_some(some), (int)MIN(some, n));
        for (uint32_t i = 0; i < MIN(some, n); i++)
            CHECK_EQUAL(user[i], (uint8_t)(i * 7 + n));
    }
    CHECK_EQUAL(sent, 0);
    datagram_ops.close(&a);
    datagram_ops.close(&b);
    all_has_gone();
}

/* RFC 1122, 3.2.1.3: a datagram with an impossible source address goes to no socket. */
HOST_TEST(what_came_from_no_other_host_is_nobodys)
{
    static const uint32_t senders[] = {PEER_IP,     0x0a0000feu,      0x08080808u, 0,           OUR_IP,
                                       0x7f000001u, 0x7fffffff,       0x0a0000ffu, 0x0a000000u, 0xe0000001u,
                                       0xf0000001u, INADDR_BROADCAST, 5,           0x00ffffffu};
    begin(10);
    for (unsigned connected = 0; connected < 2; connected++)
        for (unsigned i = 0; i < sizeof senders / sizeof *senders; i++) {
            struct file f = file_for(datagram_create(), O_NONBLOCK);
            waiting = f;
            CHECK_EQUAL(datagram_bind(f.data, 0, 7), 0);
            if (connected)
                datagram_connect(f.data, senders[i], 5); /* where that is possible */
            input(make(senders[i], 5, OUR_IP, 7, 10, true));
            CHECK_EQUAL(read_some(100), i < 4 ? 10 : -EAGAIN);
            datagram_ops.close(&f);
        }
    all_has_gone();
}

/* Whatever address of its own a host sends to: it hears that no socket has the port. */
HOST_TEST(who_sends_to_the_own_host_hears_that_nobody_is_there)
{
    static const uint32_t own[] = {OUR_IP, 0x7f000001u, 0x7f000009u};
    begin(11);
    for (unsigned i = 0; i < 3; i++) {
        struct file f = file_for(datagram_create(), O_NONBLOCK);
        waiting = f;
        CHECK_EQUAL(datagram_connect(f.data, own[i], 9), 0);
        CHECK_EQUAL(send_to(f.data, 0, 0), 5);
        CHECK_EQUAL(read_some(10), -ECONNREFUSED);
        CHECK_EQUAL(read_some(10), -EAGAIN);
        datagram_ops.close(&f);
    }
    all_has_gone();
}

/* Fragments of a datagram with so many bytes, and whether the last one is short. */
static uint32_t mbufs_of(uint32_t bytes, bool *short_one)
{
    uint32_t n = (UDP_HEADER + bytes + IP_PART - 1) / IP_PART;
    *short_one = IP_AT + IP_HEADER + UDP_HEADER + bytes - (n - 1) * IP_PART <= MLEN;
    return n;
}

static uint32_t allocations_of(uint32_t bytes)
{
    bool short_one;
    return 2 * mbufs_of(bytes, &short_one) - short_one;
}

static uint32_t memory_of(uint32_t bytes)
{
    bool short_one;
    return mbufs_of(bytes, &short_one) * (MSIZE + MCLBYTES) - short_one * MCLBYTES;
}

/*
 * An empty queue takes one datagram of any length, and more as long as their memory stays within its limit; reading
 * frees as much. A failed allocation, at any place, loses that datagram and nothing else.
 */
HOST_TEST(long_datagrams_wait_while_there_is_room)
{
    begin(14);
    struct file a = file_for(datagram_create(), 0), b = file_for(datagram_create(), O_NONBLOCK);
    uint32_t waits[64], first = 0, count = 0, memory = 0, full = 0;
    waiting = b;
    CHECK_EQUAL(datagram_bind(b.data, 0x7f000001u, 7), 0);
    CHECK_EQUAL(datagram_connect(a.data, 0x7f000001u, 7), 0);
    for (unsigned n = 0; n < 20000; n++) {
        uint32_t bytes = random_below(&dice, random_below(&dice, 3) ? 3000 : DATAGRAM_MOST + 1);
        uint32_t takes_up = memory_of(bytes);
        if (random_below(&dice, 3)) {
            struct transfer t = {.at = USER_AT, .left = bytes};
            fails_at = random_below(&dice, 8) ? 0 : 1 + random_below(&dice, allocations_of(bytes));
            bool out = fails_at;
            CHECK_EQUAL(datagram_ops.write(&a, &t), out ? -ENOBUFS : (int)bytes);
            CHECK(!fails_at);
            bool takes = !out && (!count || memory + takes_up <= RECEIVE_BUFFER);
            full += !out && !takes;
            CHECK_EQUAL(net_counts().udp_full, full);
            if (takes) {
                waits[(first + count++) % 64] = bytes;
                memory += takes_up;
            }
        } else {
            uint32_t is = waits[first % 64];
            CHECK_EQUAL(read_some(sizeof user), count ? (int)is : -EAGAIN);
            if (!count)
                continue;
            memory -= memory_of(is);
            first++;
            count--;
        }
    }
    CHECK(full);
    datagram_ops.close(&a);
    datagram_ops.close(&b);
    all_has_gone();
}

/* A socket with SO_BROADCAST may send to all: a broadcast frame, which this host receives, too. */
HOST_TEST(what_is_sent_to_all_goes_to_all)
{
    static const uint32_t all[] = {0x0a0000ffu, INADDR_BROADCAST};
    int one = 1;
    begin(12);
    for (unsigned i = 0; i < 2; i++) {
        struct file f = file_for(datagram_create(), O_NONBLOCK);
        waiting = f;
        CHECK_EQUAL(datagram_option(f.data, USER_SOL_SOCKET, USER_SO_BROADCAST, &one, true), 0);
        for (unsigned listens = 0; listens < 2; listens++) {
            unsigned before = sent;
            CHECK_EQUAL(send_to(f.data, all[i], 9), 5);
            CHECK_EQUAL(sent - before, 1);
            CHECK(!memcmp(last->m_data, (const uint8_t[]){255, 255, 255, 255, 255, 255}, 6));
            CHECK_EQUAL(get32(last->m_data + ETHER_HEADER + 16), all[i]);
            CHECK_EQUAL(get32(last->m_data + ETHER_HEADER + 12), OUR_IP);
            CHECK_EQUAL(read_some(100), listens ? 5 : -EAGAIN);
            CHECK_EQUAL(net_counts().icmp_errors, 0); /* no error says that a port is unused */
            if (!listens) {
                datagram_ops.close(&f);
                f = file_for(datagram_create(), O_NONBLOCK);
                waiting = f;
                CHECK_EQUAL(datagram_option(f.data, USER_SOL_SOCKET, USER_SO_BROADCAST, &one, true), 0);
                CHECK_EQUAL(datagram_bind(f.data, 0, 9), 0);
            }
        }
        memory_is_out = true;
        CHECK_EQUAL(send_to(f.data, all[i], 9), -ENOBUFS);
        memory_is_out = false;
        int none = 0;
        CHECK_EQUAL(datagram_option(f.data, USER_SOL_SOCKET, USER_SO_BROADCAST, &none, true), 0);
        CHECK_EQUAL(send_to(f.data, all[i], 9), -EACCES);
        datagram_ops.close(&f);
    }
    all_has_gone();
}

/* A broadcast goes to each matching socket, even if others have no room; to none that has another address. */
HOST_TEST(what_comes_for_all_goes_to_all)
{
    struct file files[6];
    unsigned has[6] = {0};
    int one = 1;
    begin(13);
    for (unsigned i = 0; i < 6; i++) {
        files[i] = file_for(datagram_create(), O_NONBLOCK);
        CHECK_EQUAL(datagram_option(files[i].data, USER_SOL_SOCKET, USER_SO_REUSEADDR, &one, true), 0);
        CHECK_EQUAL(datagram_bind(files[i].data, i == 1 ? OUR_IP : 0, i == 2 ? 8 : 7), 0);
    }
    CHECK_EQUAL(datagram_connect(files[3].data, PEER_IP, 54), 0);
    for (unsigned n = 0; n < 500; n++) {
        bool out = !random_below(&dice, 5);
        input(make(PEER_IP, 53, random_below(&dice, 2) ? 0x0a0000ffu : INADDR_BROADCAST, 7, 200, true));
        for (unsigned i = 0; i < 6; i++)
            has[i] += (i == 0 || i > 3) && has[i] < RECEIVE_BUFFER / (MSIZE + MCLBYTES);
        for (unsigned i = 0; out && i < 6; i++)
            for (waiting = files[i]; random_below(&dice, 8);) {
                CHECK_EQUAL(read_some(300), has[i] ? 200 : -EAGAIN);
                if (has[i])
                    has[i]--;
            }
    }
    CHECK(net_counts().udp_full);
    for (unsigned i = 0; i < 6; i++)
        datagram_ops.close(&files[i]);
    all_has_gone();
}

/* Raw sockets ------------------------------------------------------------------------------------------------------ */

#define RAWS 6
#define RAW_BYTES_MOST 1400

/* An ICMP message, numbered; returns the packet's length. */
static uint32_t make_icmp(uint32_t from, uint32_t to, uint8_t type, uint32_t number, uint32_t bytes)
{
    uint32_t length = 8 + bytes;
    uint8_t *icmp = packet + IP_HEADER;
    memset(packet, 0, IP_HEADER + 8);
    packet[0] = 0x45;
    put16(packet + 2, IP_HEADER + length);
    packet[8] = 9;
    packet[9] = IPPROTO_ICMP;
    put32(packet + 12, from);
    put32(packet + 16, to);
    put16(packet + 10, ~sum_of(packet, IP_HEADER, 0) & 0xffff);
    icmp[0] = type;
    put32(icmp + 4, number);
    for (uint32_t i = 0; i < bytes; i++)
        icmp[8 + i] = (uint8_t)(number * 13 + i);
    put16(icmp + 2, ~sum_of(icmp, length, 0) & 0xffff);
    return IP_HEADER + length;
}

/* A raw socket in the model: the numbers of the messages in its queue. */
static struct raw {
    struct file file;
    uint32_t laddr, faddr; /* 0: any */
    uint32_t first, count, memory, number[WAITING_MOST];
} raw[RAWS];

static uint32_t raw_memory(uint32_t number)
{
    return MSIZE + (IP_AT + IP_HEADER + 8 + number % RAW_BYTES_MOST > MLEN ? MCLBYTES : 0);
}

static void raw_takes_one(struct raw *r)
{
    struct ends from;
    struct transfer t = {.at = USER_AT, .left = sizeof user};
    poll_is_true(&r->file);
    int n = datagram_receive(r->file.data, &t, &from, false, false);
    if (!r->count) {
        CHECK_EQUAL(n, -EAGAIN);
        return;
    }
    uint32_t number = r->number[r->first++ % WAITING_MOST];
    r->count--;
    r->memory -= raw_memory(number);
    CHECK_EQUAL(n, IP_HEADER + 8 + number % RAW_BYTES_MOST);
    CHECK_EQUAL(user[0], 0x45); /* the IP header is there */
    CHECK_EQUAL(user[8], 9);
    CHECK_EQUAL(get32(user + 12), from.faddr);
    CHECK_EQUAL(get32(user + IP_HEADER + 4), number);
    for (uint32_t i = 8; i < 8 + number % RAW_BYTES_MOST; i++)
        CHECK_EQUAL(user[IP_HEADER + i], (uint8_t)(number * 13 + i - 8));
}

static void a_raw_message_comes(uint32_t number)
{
    uint32_t from = PEER_IP + 2 * random_below(&dice, 2), to = random_below(&dice, 3) ? OUR_IP : 0x0a0000ff;
    uint32_t full = net_counts().raw_full, should = 0;
    uint32_t length = make_icmp(from, to, random_below(&dice, 2) ? 0 : 13, number, number % RAW_BYTES_MOST);
    bool damaged = !random_below(&dice, 8);
    if (damaged)
        packet[IP_HEADER + 4] ^= 1;
    for (struct raw *r = raw; r < raw + RAWS && !damaged; r++) {
        if (!r->file.data || (r->laddr && r->laddr != to) || (r->faddr && r->faddr != from))
            continue;
        if (r->count && r->memory + raw_memory(number) > RECEIVE_BUFFER) {
            should++;
            continue;
        }
        r->memory += raw_memory(number);
        r->number[(r->first + r->count++) % WAITING_MOST] = number;
    }
    input(length);
    CHECK_EQUAL(net_counts().raw_full - full, should);
}

static void raw_step(uint32_t number)
{
    struct raw *r = &raw[random_below(&dice, RAWS)];
    switch (random_below(&dice, 9)) {
    case 0:
        if (r->file.data)
            datagram_ops.close(&r->file);
        *r = (struct raw){.file = file_for(datagram_create_raw(), 0)};
        break;
    case 1:
        if (!r->file.data)
            break;
        r->laddr = random_below(&dice, 2) ? OUR_IP : 0;
        CHECK_EQUAL(datagram_bind(r->file.data, r->laddr, random_below(&dice, 2)), 0);
        break;
    case 2:
        if (!r->file.data || r->laddr) /* connected, it would have the own address */
            break;
        r->faddr = PEER_IP;
        CHECK_EQUAL(datagram_connect(r->file.data, PEER_IP, 0), 0);
        r->laddr = OUR_IP;
        break;
    case 3:
    case 4:
    case 5:
        if (r->file.data)
            raw_takes_one(r);
        break;
    default: a_raw_message_comes(number);
    }
}

HOST_TEST(each_icmp_message_goes_to_all_raw_sockets_that_it_fits)
{
    begin(15);
    memset(raw, 0, sizeof raw);
    for (uint32_t number = 1; number < 30000 * host_times(); number++)
        raw_step(number);
    CHECK(net_counts().raw_full && net_counts().icmp_bad && wakeups);
    for (struct raw *r = raw; r < raw + RAWS; r++)
        if (r->file.data)
            datagram_ops.close(&r->file);
    all_has_gone();
}

/* What no memory is left to copy is lost to that socket, and nothing else is. */
HOST_TEST(a_raw_socket_may_lose_its_copy)
{
    begin(16);
    struct file f = file_for(datagram_create_raw(), O_NONBLOCK);
    waiting = f;
    for (unsigned fails = 1; fails < 4; fails++) {
        uint32_t length = make_icmp(PEER_IP, OUR_IP, 8, fails, 10);
        unsigned before = sent;
        fails_at = fails + 1; /* the first is the frame's own buffer */
        input(length);
        fails_at = 0;
        CHECK_EQUAL(sent - before, 1); /* the echo is answered */
        CHECK_EQUAL(read_some(sizeof user), fails == 1 ? -EAGAIN : (int)length);
    }
    CHECK_EQUAL(net_counts().raw_full, 1);
    datagram_ops.close(&f);
    all_has_gone();
}

/* Messages of all lengths leave as they are, in one packet or in fragments; the own host gets its own. */
HOST_TEST(what_a_raw_socket_sends_gets_an_ip_header)
{
    static const int ttls[] = {1, 255, -1};
    begin(17);
    struct file f = file_for(datagram_create_raw(), O_NONBLOCK);
    struct datagram *d = f.data;
    waiting = f;
    for (uint32_t n = 0; n <= IP_MOST - IP_HEADER + 1; n += n < 20 || n % IP_PART < 9 || n > 65400 ? 1 : 61) {
        struct transfer t = {.at = USER_AT, .left = n};
        int ttl = ttls[n % 3];
        CHECK_EQUAL(datagram_option(d, IPPROTO_IP, USER_IP_TTL, &ttl, true), 0);
        for (uint32_t i = 0; i < n; i++)
            user[i] = (uint8_t)random_next(&dice);
        int done = datagram_send(d, &t, PEER_IP, 0);
        CHECK_EQUAL(done, n > IP_MOST - IP_HEADER ? -EMSGSIZE : (int)n);
        if (done < 0)
            continue;
        const uint8_t *ip = last->m_data + ETHER_HEADER;
        CHECK_EQUAL(sent_length, n);
        CHECK(!memcmp(sent_data, user, n));
        CHECK_EQUAL(ip[8], ttl < 0 ? 64 : ttl);
        CHECK_EQUAL(ip[9], IPPROTO_ICMP);
        CHECK_EQUAL(get32(ip + 12), OUR_IP);
        CHECK_EQUAL(get32(ip + 16), PEER_IP);
        CHECK_EQUAL(datagram_option(d, IPPROTO_IP, USER_IP_TTL, &ttl, false), 0);
        CHECK_EQUAL(ttl, ip[8]);
    }
    uint32_t length = make_icmp(0x7f000001, 0x7f000001, 8, 77, 2000 % RAW_BYTES_MOST) - IP_HEADER;
    memcpy(user, packet + IP_HEADER, length);
    CHECK_EQUAL(datagram_send(d, &(struct transfer){.at = USER_AT, .left = length}, 0x7f000001, 0), (int)length);
    for (uint8_t type = 8, i = 0; i < 2; i++, type = 0) { /* the request and its answer */
        CHECK_EQUAL(read_some(sizeof user), (int)(IP_HEADER + length));
        CHECK_EQUAL(user[IP_HEADER], type);
        CHECK_EQUAL(get32(user + IP_HEADER + 4), 77);
    }
    static const int bad[] = {0, 256, -2};
    for (unsigned i = 0; i < 3; i++) {
        int ttl = bad[i];
        CHECK_EQUAL(datagram_option(d, IPPROTO_IP, USER_IP_TTL, &ttl, true), -EINVAL);
    }
    int value;
    CHECK_EQUAL(datagram_option(d, USER_SOL_SOCKET, USER_SO_TYPE, &value, false), 0);
    CHECK_EQUAL(value, USER_SOCK_RAW);
    CHECK_EQUAL(send_to(d, 0, 0), -EDESTADDRREQ);
    CHECK_EQUAL(datagram_shut(d, true, true), -ENOTCONN);
    CHECK_EQUAL(datagram_connect(d, PEER_IP, 0), 0);
    CHECK_EQUAL(send_to(d, 0, 0), 5);
    CHECK_EQUAL(datagram_connect(d, 0, 0), 0);
    CHECK_EQUAL(send_to(d, 0, 0), -EDESTADDRREQ);
    datagram_ops.close(&f);
    all_has_gone();
}

/* Turns the packet into what an ICMP error quotes; returns the new length. */
static uint32_t make_error(uint32_t length)
{
    static const uint8_t types[] = {3, 3, 11, 12, 5};
    uint8_t *icmp = packet + IP_HEADER;
    memmove(icmp + 8, packet, length);
    uint32_t from = get32(packet + 12); /* the quoted packet went the other way */
    put32(icmp + 8 + 12, get32(packet + 16));
    put32(icmp + 8 + 16, from);
    uint32_t port = get16(icmp + 8 + IP_HEADER);
    memcpy(icmp + 8 + IP_HEADER, icmp + 8 + IP_HEADER + 2, 2);
    put16(icmp + 8 + IP_HEADER + 2, port);
    if (!random_below(&dice, 4))
        icmp[8 + 9] = IPPROTO_TCP;
    packet[9] = IPPROTO_ICMP;
    icmp[0] = types[random_below(&dice, 5)];
    icmp[1] = (uint8_t)random_below(&dice, 16);
    length = 8 + (random_below(&dice, 3) ? IP_HEADER + 8 : random_below(&dice, length < 1400 ? length : 1400));
    memset(icmp + 2, 0, 2);
    put16(icmp + 2, ~sum_of(icmp, length, 0) & 0xffff);
    put16(packet + 2, IP_HEADER + length);
    return IP_HEADER + length;
}

/*
 * Good datagrams, and errors about some, with bytes changed, cut or added, and random frames; sockets read, or do not.
 */
HOST_TEST(packets_of_any_content_take_nothing_down_and_leave_nothing)
{
    begin(8);
    struct file files[4];
    for (unsigned i = 0; i < 4; i++) {
        files[i] = file_for(datagram_create(), O_NONBLOCK);
        CHECK_EQUAL(datagram_bind(files[i].data, i % 2 ? OUR_IP : 0, 7 + i), 0);
        CHECK_EQUAL(i < 2 ? datagram_connect(files[i].data, PEER_IP, 5) : 0, 0);
    }
    uint32_t read = 0, told = 0;
    for (uint32_t n = 0; n < HOSTILE_FRAMES * host_times(); n++) {
        uint32_t length = make(random_below(&dice, 9) ? PEER_IP : (uint32_t)random_next(&dice), random_below(&dice, 9),
                               random_below(&dice, 9) ? OUR_IP : 0x0a0000ff, 6 + random_below(&dice, 6),
                               random_below(&dice, 9) ? random_below(&dice, 80) : random_below(&dice, 1472), n % 2);
        if (!random_below(&dice, 4))
            length = make_error(length);
        for (unsigned changes = random_below(&dice, 4); changes--;)
            packet[random_below(&dice, length < 40 ? length : 40)] = (uint8_t)random_next(&dice);
        if (!random_below(&dice, 6))
            length = random_below(&dice, length + 1);
        if (random_below(&dice, 3) && length >= IP_HEADER) {
            put16(packet + 10, 0);
            put16(packet + 10, ~sum_of(packet, IP_HEADER, 0) & 0xffff);
        }
        memory_is_out = !random_below(&dice, 50);
        input(length);
        memory_is_out = false;
        waiting = files[random_below(&dice, 4)];
        if (n / 2000 % 2 && random_below(&dice, 3))
            switch (read_some(random_below(&dice, 2000))) {
            case -EAGAIN: break;
            case -ECONNREFUSED:
            case -EHOSTUNREACH:
            case -ENETUNREACH: told++; break;
            default: read++;
            }
    }
    struct net_counts c = net_counts();
    CHECK(read && told && tcp_is_told && c.icmp_told && c.udp_bad && c.udp_no_port && c.udp_full);
    CHECK(c.udp_in >= read + c.udp_bad + c.udp_no_port + c.udp_full);
    for (unsigned i = 0; i < 4; i++)
        datagram_ops.close(&files[i]);
    all_has_gone();
}
