/*
 * The kernel's TCP/IP and smoltcp at the ends of a wire that loses, repeats, reorders, delays and damages packets:
 * TRANSFER bytes each way, for each seed of SMOLTCP_SEEDS ("FIRST LAST") in a process of its own. Every byte that
 * either delivers is the right one, all of them arrive, and both connections end. A line for each seed has its times
 * and a digest of all packets (tests/smoltcp.py).
 */
#include "test/host/tcp_world.h"

#include <inttypes.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/host/smoltcp/smoltcp.h"

#define TRANSFER (1u << 20)
#define PACKET_MOST 1500
#define MOST_MS (3600u * 1000)
#define IDLE_MS 50u
#define PORT 7
#define PEER_PORT 40000

static struct random dice;
static uint32_t seed;
static struct smoltcp *smoltcp;

/* The wire --------------------------------------------------------------------------------------------------------- */

struct flight {
    uint32_t at, length;
    bool to_kernel;
    struct flight *next;
    uint8_t packet[PACKET_MOST];
};
static struct flight *in_flight; /* by their times; of the same time in the order in which they were sent */
static uint32_t loss, twice, late, damage; /* of 1000; late: milliseconds at most */
static uint64_t digest = 0xcbf29ce484222325u; /* FNV-1a */
static unsigned packets;

static bool chance(uint32_t of_1000)
{
    return random_below(&dice, 1000) < of_1000;
}

static void add_to_digest(const void *bytes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        digest = (digest ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
}

static void to_wire(const uint8_t *packet, uint32_t length, bool to_kernel)
{
    CHECK(length <= PACKET_MOST);
    add_to_digest((const uint32_t[]){now, length, to_kernel}, 12);
    add_to_digest(packet, length);
    packets++;
    if (chance(loss))
        return;
    for (unsigned copies = 1 + chance(twice); copies; copies--) {
        struct flight *f = malloc(sizeof *f), **at = &in_flight;
        CHECK(f);
        *f = (struct flight){.at = now + 1 + random_below(&dice, late + 1), .length = length, .to_kernel = to_kernel};
        memcpy(f->packet, packet, length);
        if (chance(damage)) /* one byte: both checksums notice it always */
            f->packet[random_below(&dice, length)] ^= (uint8_t)(1 + random_below(&dice, 255));
        while (*at && (*at)->at <= f->at)
            at = &(*at)->next;
        f->next = *at;
        *at = f;
    }
}

static void ignored(const struct seg *s)
{
    (void)s; /* its checks have passed */
}

static void kernel_sends(struct mbuf *m)
{
    if (get16(m->m_data + 12) == ETHERTYPE_IP)
        to_wire(m->m_data + ETHER_HEADER, m->m_len - ETHER_HEADER, false);
    transmitted(m);
}

/* The two programs ------------------------------------------------------------------------------------------------- */

static int listening = -1, fd = -1;
static uint32_t kernel_wrote, kernel_read, peer_wrote, peer_read;
static bool kernel_shut, kernel_ended, kernel_over, peer_closed;

/*
 * Which one closes first. smoltcp 0.8.2 clears its retransmission timer when a FIN arrives, and in CLOSE-WAIT with each
 * segment: the kernel sends its FIN only when it has all of smoltcp's bytes, and an end that is second, when it has the
 * other's.
 */
static bool kernel_first(void)
{
    return seed & 2;
}

static uint8_t stream(uint32_t at, uint32_t direction)
{
    uint32_t word = (at / 4 + 1) * 2654435761u + seed * 2 + direction;
    return (uint8_t)((word ^ word >> 15) >> at % 4 * 8);
}

static void is_stream(const char *who, const uint8_t *bytes, uint32_t n, uint32_t at, uint32_t direction)
{
    for (uint32_t i = 0; i < n; i++)
        if (bytes[i] != stream(at + i, direction))
            host_failed(__FILE__, __LINE__, "seed %u: byte %u that %s receives is %02x, not %02x", seed, at + i, who,
                        bytes[i], stream(at + i, direction));
    if (at + n > TRANSFER)
        host_failed(__FILE__, __LINE__, "seed %u: %s receives more than was sent", seed, who);
}

static void kernel_reads(void)
{
    if (fd < 0 && listening >= 0 && !kernel_over)
        fd = k_accept(listening);
    while (fd >= 0) {
        int n = k_read(fd, 16384);
        if (n > 0) {
            is_stream("the kernel", user + USER_DATA, (uint32_t)n, kernel_read, 0);
            kernel_read += (uint32_t)n;
            continue;
        }
        if (n == -EAGAIN || n == -ENOTCONN)
            break;
        if (n || kernel_read != TRANSFER)
            host_failed(__FILE__, __LINE__, "seed %u: the kernel's stream ends with %d after %u bytes", seed, n,
                        kernel_read);
        kernel_ended = true;
        break;
    }
}

static void kernel_writes(void)
{
    while (fd >= 0 && kernel_wrote < TRANSFER) {
        uint32_t n = TRANSFER - kernel_wrote < 8192 ? TRANSFER - kernel_wrote : 8192;
        for (uint32_t i = 0; i < n; i++)
            user[USER_DATA + i] = stream(kernel_wrote + i, 1);
        int done = k_write(fd, n);
        if (done == -EAGAIN || done == -ENOTCONN)
            return;
        if (done <= 0)
            host_failed(__FILE__, __LINE__, "seed %u: the kernel's write after %u bytes is %d", seed, kernel_wrote,
                        done);
        kernel_wrote += (uint32_t)done;
    }
    if (fd >= 0 && !kernel_shut && (kernel_first() ? kernel_read == TRANSFER : kernel_ended)) {
        CHECK_EQUAL(k_shutdown(fd, 1), 0);
        kernel_shut = true;
    }
    if (fd >= 0 && kernel_shut && kernel_ended) {
        k_close(fd);
        fd = -1;
        kernel_over = true;
    }
}

static void peer_goes_on(void)
{
    static uint8_t bytes[8192];
    for (uint32_t n; (n = smoltcp_read(smoltcp, bytes, sizeof bytes));) {
        is_stream("smoltcp", bytes, n, peer_read, 1);
        peer_read += n;
    }
    for (;;) {
        uint32_t n = TRANSFER - peer_wrote < sizeof bytes ? TRANSFER - peer_wrote : sizeof bytes;
        for (uint32_t i = 0; i < n; i++)
            bytes[i] = stream(peer_wrote + i, 0);
        n = n ? smoltcp_write(smoltcp, bytes, n) : 0;
        if (!n)
            break;
        peer_wrote += n;
    }
    if (peer_wrote == TRANSFER && !peer_closed && (!kernel_first() || smoltcp_has_end(smoltcp))) {
        smoltcp_close(smoltcp);
        peer_closed = true;
    }
}

/* A transfer ------------------------------------------------------------------------------------------------------- */

static void arrive(void)
{
    while (in_flight && in_flight->at <= now) {
        struct flight *f = in_flight;
        in_flight = f->next;
        if (f->to_kernel) {
            make_frame(&(struct seg){.flags = A}); /* Ethernet's header */
            memcpy(frame_ip, f->packet, f->length);
            input_frame(ETHER_HEADER + f->length);
            kernel_reads();
        } else {
            smoltcp_input(smoltcp, f->packet, f->length);
        }
        free(f);
    }
}

static void step(void)
{
    static uint8_t packet[PACKET_MOST];
    arrive();
    kernel_reads();
    kernel_writes();
    smoltcp_poll(smoltcp, now);
    peer_goes_on();
    smoltcp_poll(smoltcp, now);
    for (uint32_t n; (n = smoltcp_output(smoltcp, packet, sizeof packet));)
        to_wire(packet, n, true);
    uint32_t ms = smoltcp_due(smoltcp, now);
    if (ms > IDLE_MS)
        ms = IDLE_MS;
    if (in_flight && in_flight->at - now < ms)
        ms = in_flight->at - now;
    advance(ms ? ms : 1);
}

static void transfer(void)
{
    static const uint32_t losses[] = {0, 2, 10, 30}, lates[] = {0, 1, 5, 30};
    dice = random_from(seed, 0);
    loss = losses[random_below(&dice, 4)];
    twice = losses[random_below(&dice, 4)];
    damage = losses[random_below(&dice, 4)];
    late = lates[random_below(&dice, 4)];
    begin();
    if_transmit = kernel_sends;
    on_sent = ignored;
    smoltcp = smoltcp_begin(PEER_IP, seed);
    if (seed % 2) {
        CHECK((fd = k_socket()) >= 0);
        CHECK(smoltcp_listen(smoltcp, PORT));
        CHECK_EQUAL(k_connect(fd, PORT), -EINPROGRESS);
    } else {
        CHECK((listening = k_socket()) >= 0);
        CHECK_EQUAL(CALL(sys_bind, (uint32_t)listening, address(0, PORT), sizeof(struct user_sockaddr_in)), 0);
        CHECK_EQUAL(CALL(sys_listen, (uint32_t)listening, 1), 0);
        CHECK(smoltcp_connect(smoltcp, OUR_IP, PORT, PEER_PORT));
    }
    uint32_t began = now;
    while (!(kernel_over && peer_closed && smoltcp_is_over(smoltcp))) {
        if (now - began > MOST_MS)
            host_failed(__FILE__, __LINE__, "seed %u: no end; the kernel wrote %u and read %u, smoltcp %u and %u", seed,
                        kernel_wrote, kernel_read, peer_wrote, peer_read);
        step();
    }
    if (peer_read != TRANSFER)
        host_failed(__FILE__, __LINE__, "seed %u: smoltcp received %u bytes", seed, peer_read);
    uint32_t took = now - began;
    if (listening >= 0)
        k_close(listening);
    while (objects && now - began < MOST_MS)
        step();
    while (in_flight) {
        struct flight *f = in_flight;
        in_flight = f->next;
        free(f);
    }
    smoltcp_end(smoltcp);
    all_has_gone();
    printf("seed %u loss %u twice %u damage %u late %u: %u ms, %u packets, %016" PRIx64 "\n", seed, loss, twice, damage,
           late, took, packets, digest);
}

HOST_TEST(transfers)
{
    uint32_t first = 0, last = 0;
    const char *seeds = getenv("SMOLTCP_SEEDS");
    CHECK(seeds && sscanf(seeds, "%u %u", &first, &last) == 2 && first <= last);
    unsigned wrong = 0;
    for (seed = first; seed <= last; seed++) {
        fflush(stdout);
        pid_t child = fork();
        CHECK(child >= 0);
        if (!child) {
            transfer();
            exit(0);
        }
        int status;
        CHECK_EQUAL(waitpid(child, &status, 0), child);
        if (status) {
            printf("seed %u: FAILED\n", seed);
            wrong++;
        }
    }
    CHECK_EQUAL(wrong, 0);
}
