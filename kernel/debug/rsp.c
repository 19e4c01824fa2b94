/* GDB's remote serial protocol: packets and commands (rsp.h). Uses no library, so that breakpoints may be set in it. */
#include "debug/rsp.h"

/* Packets ---------------------------------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char hex_digit(unsigned n)
{
    return "0123456789abcdef"[n & 15];
}

static void rsp_send(struct rsp *r)
{
    uint8_t sum = 0;
    r->target->put('$');
    for (unsigned i = 0; i < r->reply_length; i++) {
        sum += (uint8_t)r->reply[i];
        r->target->put((uint8_t)r->reply[i]);
    }
    r->target->put('#');
    r->target->put((uint8_t)hex_digit(sum >> 4));
    r->target->put((uint8_t)hex_digit(sum));
}

static void rsp_add(struct rsp *r, char c)
{
    if (r->reply_length == sizeof r->reply)
        r->reply_cut = true;
    else
        r->reply[r->reply_length++] = c;
}

static void add_text(struct rsp *r, const char *text)
{
    while (*text)
        rsp_add(r, *text++);
}

static void add_byte(struct rsp *r, uint8_t b)
{
    rsp_add(r, hex_digit(b >> 4));
    rsp_add(r, hex_digit(b));
}

/* A number without leading zeros. */
static void rsp_add_number(struct rsp *r, uint32_t value)
{
    unsigned shift = 28;
    while (shift && !(value >> shift))
        shift -= 4;
    for (;; shift -= 4) {
        rsp_add(r, hex_digit(value >> shift));
        if (!shift)
            return;
    }
}

/* A register: its bytes in memory order, or x if it cannot be read. */
static void add_register(struct rsp *r, unsigned thread, unsigned number)
{
    uint32_t value;
    if (r->target->read_register(thread, number, &value)) {
        for (unsigned i = 0; i < 4; i++)
            add_byte(r, (uint8_t)(value >> 8 * i));
    } else {
        add_text(r, "xxxxxxxx");
    }
}

static void reply(struct rsp *r, const char *text)
{
    r->reply_length = 0;
    add_text(r, text);
}

static void reply_ok(struct rsp *r, bool ok)
{
    reply(r, ok ? "OK" : "E01");
}

enum rsp_verdict rsp_receive(struct rsp *r, uint8_t c)
{
    switch (r->state) {
    case RSP_BETWEEN:
        if (c == '-' && r->reply_length)
            rsp_send(r);
        else if (c == '$')
            r->state = RSP_BODY, r->length = r->sum = 0, r->too_long = false;
        return c == RSP_INTERRUPT_CHARACTER ? RSP_INTERRUPT : RSP_NOTHING;
    case RSP_BODY:
        if (c == '$') { /* the end of the previous packet was lost */
            r->length = r->sum = 0, r->too_long = false;
        } else if (c == '#') {
            r->state = RSP_CHECK_HIGH;
        } else {
            r->sum += c;
            if (r->length == RSP_PACKET_SIZE)
                r->too_long = true;
            else
                r->in[r->length++] = (char)c;
        }
        return RSP_NOTHING;
    case RSP_CHECK_HIGH:
        r->check = c;
        r->state = RSP_CHECK_LOW;
        return RSP_NOTHING;
    default:
        r->state = RSP_BETWEEN;
        int high = digit_of((char)r->check), low = digit_of((char)c);
        if (high < 0 || low < 0 || r->sum != (high << 4 | low)) {
            r->target->put('-');
            return RSP_NOTHING;
        }
        r->target->put('+');
        if (r->too_long)
            r->length = 0; /* longer than announced: an unknown command */
        r->in[r->length] = 0;
        r->waiting = false; /* perhaps another GDB */
        return RSP_PACKET;
    }
}

/* Parts of a command ----------------------------------------------------------------------------------------------- */

/* A number of hexadecimal digits, at least one; moves *at past it. */
static bool number(const char **at, uint32_t *value)
{
    const char *begin = *at;
    *value = 0;
    for (int d; (d = digit_of(**at)) >= 0; ++*at)
        *value = *value << 4 | (uint32_t)d;
    return *at != begin;
}

static bool rsp_expect(const char **at, char c)
{
    if (**at != c)
        return false;
    ++*at;
    return true;
}

/* "address,length" */
static bool range(const char **at, uint32_t *address, uint32_t *length)
{
    return number(at, address) && rsp_expect(at, ',') && number(at, length);
}

/* A thread: -1 (all) and 0 (any) both become 0. */
static bool thread_number(const struct rsp *r, const char **at, unsigned *thread)
{
    uint32_t n;
    if (**at == '-') {
        ++*at;
        *thread = 0;
        return number(at, &n) && n == 1;
    }
    if (!number(at, &n) || n > r->target->threads)
        return false;
    *thread = n;
    return true;
}

/* Whether the text begins with `word`; moves *at past it. */
static bool starts(const char **at, const char *word)
{
    const char *c = *at;
    while (*word)
        if (*c++ != *word++)
            return false;
    *at = c;
    return true;
}

/* Converts two digits for each of n bytes; the text must end there. */
static bool hex_bytes(const char *from, uint8_t *to, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, from += 2) {
        int high = digit_of(from[0]), low = high < 0 ? -1 : digit_of(from[1]);
        if (low < 0)
            return false;
        to[i] = (uint8_t)(high << 4 | low);
    }
    return !*from;
}

/* Memory and registers --------------------------------------------------------------------------------------------- */

/* GDB accepts the readable beginning of a range; the fault shows when it asks for the rest. */
static void rsp_read_memory(struct rsp *r, const char *at)
{
    uint32_t address, n, end;
    uint8_t bytes[16];
    if (!range(&at, &address, &n)) {
        reply(r, "E01");
        return;
    }
    if (n > RSP_PACKET_SIZE / 2)
        n = RSP_PACKET_SIZE / 2;
    r->reply_length = 0;
    for (end = address + n; address != end;) {
        uint32_t part = sizeof bytes - address % sizeof bytes;
        if (part > end - address)
            part = end - address;
        if (!r->target->read(r->thread, address, bytes, part))
            break;
        for (uint32_t i = 0; i < part; i++)
            add_byte(r, bytes[i]);
        address += part;
    }
    if (n && !r->reply_length)
        reply(r, "E01");
}

/* The bytes overwrite the packet's text, which is longer. */
static void write_hex(struct rsp *r, const char *at)
{
    uint32_t address, n;
    uint8_t *bytes = (uint8_t *)r->in;
    reply_ok(r, range(&at, &address, &n) && rsp_expect(&at, ':') && n <= RSP_PACKET_SIZE / 2 &&
                    hex_bytes(at, bytes, n) && r->target->write(r->thread, address, bytes, n));
}

static void write_binary(struct rsp *r, const char *at)
{
    uint32_t address, n, got = 0;
    uint8_t *bytes = (uint8_t *)r->in;
    const char *end = r->in + r->length;
    if (!range(&at, &address, &n) || !rsp_expect(&at, ':')) {
        reply(r, "E01");
        return;
    }
    while (at < end && got < n) {
        uint8_t c = (uint8_t)*at++;
        if (c == '}') {
            if (at == end)
                break;
            c = (uint8_t)*at++ ^ 0x20;
        }
        bytes[got++] = c;
    }
    reply_ok(r, got == n && at == end && (!n || r->target->write(r->thread, address, bytes, n)));
}

static void read_registers(struct rsp *r)
{
    r->reply_length = 0;
    for (unsigned i = 0; i < RSP_CORE_REGISTERS; i++)
        add_register(r, r->thread, i);
}

static uint32_t little_endian(const uint8_t *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void write_registers(struct rsp *r, const char *at)
{
    uint8_t bytes[4 * RSP_CORE_REGISTERS];
    bool ok = hex_bytes(at, bytes, sizeof bytes);
    for (unsigned i = 0; ok && i < RSP_CORE_REGISTERS; i++)
        ok = r->target->write_register(r->thread, i, little_endian(bytes + 4 * i));
    reply_ok(r, ok);
}

static void rsp_read_register(struct rsp *r, const char *at)
{
    uint32_t n;
    if (!number(&at, &n)) {
        reply(r, "E01");
        return;
    }
    r->reply_length = 0;
    add_register(r, r->thread, n);
}

static void rsp_write_register(struct rsp *r, const char *at)
{
    uint32_t n;
    uint8_t bytes[4];
    reply_ok(r, number(&at, &n) && rsp_expect(&at, '=') && hex_bytes(at, bytes, 4) &&
                    r->target->write_register(r->thread, n, little_endian(bytes)));
}

/* Threads and what GDB asks about the target ----------------------------------------------------------------------- */

static void select_thread(struct rsp *r, const char *at)
{
    unsigned thread;
    char what = *at ? *at++ : 0;
    if ((what != 'g' && what != 'c') || !thread_number(r, &at, &thread)) {
        reply(r, "E01");
        return;
    }
    if (what == 'c')
        r->step_thread = thread;
    else
        r->thread = thread ? thread : r->stop_thread;
    reply(r, "OK");
}

/* The requested part of a document: "offset,length". */
static void add_part(struct rsp *r, const char *document, const char *at)
{
    uint32_t offset, n, size = 0;
    if (!range(&at, &offset, &n)) {
        reply(r, "E01");
        return;
    }
    while (document[size])
        size++;
    if (offset > size) {
        reply(r, "E01");
        return;
    }
    if (n > RSP_PACKET_SIZE - 1)
        n = RSP_PACKET_SIZE - 1;
    bool last = n >= size - offset;
    r->reply_length = 0;
    rsp_add(r, last ? 'l' : 'm');
    for (uint32_t i = 0; i < (last ? size - offset : n); i++)
        rsp_add(r, document[offset + i]);
}

static char *rsp_copy(char *to, char *end, const char *text)
{
    while (*text && to < end)
        *to++ = *text++;
    return to;
}

/* Names come from programs: replaces characters that XML or the packet would interpret as markup. */
static void plain(char *text)
{
    for (; *text; text++)
        for (const char *c = "<>&\"#$}*"; *c; c++)
            if (*text == *c || *text < ' ' || *text > '~')
                *text = '?';
}

static void add_threads(struct rsp *r, const char *at)
{
    char *to = r->list, *end = to + sizeof r->list - 1;
    to = rsp_copy(to, end, "<threads>");
    for (unsigned t = 1; t <= r->target->threads; t++) {
        char name[16], text[80], id[2] = {hex_digit(t), 0}, core[2] = {hex_digit(t - 1), 0};
        r->target->describe(t, name, sizeof name, text, sizeof text);
        plain(name);
        plain(text);
        const char *const parts[] = {"<thread id=\"", id,   "\" core=\"", core, "\" name=\"", name,
                                     "\">",           text, "</thread>"};
        for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
            to = rsp_copy(to, end, parts[i]);
    }
    *rsp_copy(to, end, "</threads>") = 0;
    add_part(r, r->list, at);
}

static void add_thread_ids(struct rsp *r)
{
    r->reply_length = 0;
    for (unsigned t = 1; t <= r->target->threads; t++) {
        rsp_add(r, t == 1 ? 'm' : ',');
        rsp_add_number(r, t);
    }
}

static void query(struct rsp *r, const char *at)
{
    if (starts(&at, "Supported")) {
        reply(r, "PacketSize=");
        rsp_add_number(r, RSP_PACKET_SIZE);
        add_text(r, ";qXfer:features:read+;qXfer:threads:read+;swbreak+;vContSupported+");
    } else if (starts(&at, "Xfer:features:read:target.xml:")) {
        add_part(r, r->target->description, at);
    } else if (starts(&at, "Xfer:threads:read::")) {
        add_threads(r, at);
    } else if (starts(&at, "fThreadInfo")) {
        add_thread_ids(r);
    } else if (starts(&at, "sThreadInfo")) {
        reply(r, "l");
    } else if (starts(&at, "Attached")) {
        reply(r, "1"); /* GDB leaves the target running when it quits */
    } else if (*at == 'C' && !at[1]) {
        reply(r, "QC");
        rsp_add_number(r, r->thread);
    } else {
        reply(r, "");
    }
}

/* Breakpoints and running ------------------------------------------------------------------------------------------ */

/* "type,address,kind": only software breakpoints (type 0) of four bytes; this CPU has no others. */
static void rsp_breakpoint(struct rsp *r, bool set, const char *at)
{
    uint32_t address, kind;
    if (!starts(&at, "0,")) {
        reply(r, "");
        return;
    }
    reply_ok(r, range(&at, &address, &kind) && kind == 4 && !(address & 3) &&
                    (set ? r->target->set_breakpoint : r->target->clear_breakpoint)(r->thread, address));
}

static void all_do(struct rsp *r, enum rsp_resume how)
{
    for (unsigned i = 0; i < r->target->threads; i++)
        r->action[i] = (struct rsp_action){.resume = how};
}

/* Signals that GDB gives with C and S are ignored: a machine has none. */
static bool action_of(const char **at, struct rsp_action *a)
{
    uint32_t signal;
    char what = **at;
    if (!what)
        return false;
    ++*at;
    *a = (struct rsp_action){.resume = what == 'c' || what == 'C' ? RSP_CONTINUE : RSP_STEP};
    switch (what) {
    case 'c':
    case 's': return true;
    case 'C':
    case 'S': return number(at, &signal);
    case 'r': return range(at, &a->begin, &a->end);
    default: return false;
    }
}

/* "vCont;action[:thread]...": for each thread the first action that names it, or that names none, applies. */
static enum rsp_verdict rsp_vcont(struct rsp *r, const char *at)
{
    bool given[RSP_MAX_THREADS] = {false};
    all_do(r, RSP_HOLD);
    while (rsp_expect(&at, ';')) {
        struct rsp_action a;
        unsigned thread = 0;
        if (!action_of(&at, &a) || (rsp_expect(&at, ':') && !thread_number(r, &at, &thread))) {
            reply(r, "E01");
            return RSP_NOTHING;
        }
        for (unsigned t = thread ? thread : 1; t <= (thread ? thread : r->target->threads); t++)
            if (!given[t - 1]) {
                r->action[t - 1] = a;
                given[t - 1] = true;
            }
    }
    if (*at) {
        reply(r, "E01");
        return RSP_NOTHING;
    }
    return RSP_RESUME;
}

/* The old "c" and "s", without an address: apply to the thread of "Hc"; the others continue. */
static enum rsp_verdict resume_plainly(struct rsp *r, enum rsp_resume how)
{
    all_do(r, RSP_CONTINUE);
    r->action[(r->step_thread ? r->step_thread : r->stop_thread) - 1].resume = how;
    return RSP_RESUME;
}

static void add_stop(struct rsp *r)
{
    reply(r, "T");
    add_byte(r, r->stop_signal);
    add_text(r, "thread:");
    rsp_add_number(r, r->stop_thread);
    rsp_add(r, ';');
    if (r->stop_breakpoint)
        add_text(r, "swbreak:;");
}

void rsp_stopped(struct rsp *r, unsigned thread, enum rsp_signal signal, bool breakpoint)
{
    r->thread = r->stop_thread = thread;
    r->stop_signal = signal;
    r->stop_breakpoint = breakpoint;
    if (!r->waiting)
        return;
    r->waiting = false;
    add_stop(r);
    rsp_send(r);
}

void rsp_console(struct rsp *r, const char *text)
{
    if (!r->waiting)
        return;
    reply(r, "O");
    while (*text)
        add_byte(r, (uint8_t)*text++);
    rsp_send(r);
}

void rsp_exited(struct rsp *r, uint8_t code)
{
    if (!r->waiting)
        return;
    reply(r, "W");
    add_byte(r, code);
    rsp_send(r);
}

enum rsp_verdict rsp_execute(struct rsp *r)
{
    const char *at = r->in;
    enum rsp_verdict verdict = RSP_NOTHING;
    unsigned thread;
    r->reply_cut = false;
    switch (*at ? *at++ : 0) {
    case '?': add_stop(r); break;
    case 'g': read_registers(r); break;
    case 'G': write_registers(r, at); break;
    case 'p': rsp_read_register(r, at); break;
    case 'P': rsp_write_register(r, at); break;
    case 'm': rsp_read_memory(r, at); break;
    case 'M': write_hex(r, at); break;
    case 'X': write_binary(r, at); break;
    case 'H': select_thread(r, at); break;
    case 'T': reply_ok(r, thread_number(r, &at, &thread) && thread); break;
    case 'q': query(r, at); break;
    case 'Z': rsp_breakpoint(r, true, at); break;
    case 'z': rsp_breakpoint(r, false, at); break;
    case 'D':
        reply(r, "OK");
        all_do(r, RSP_CONTINUE);
        verdict = RSP_DETACH;
        break;
    case 'k': return RSP_KILL;
    case 'c':
    case 's':
        reply(r, "E01");
        if (!*at)
            verdict = resume_plainly(r, r->in[0] == 'c' ? RSP_CONTINUE : RSP_STEP);
        break;
    case 'v':
        if (starts(&at, "Cont?")) {
            reply(r, "vCont;c;C;s;S;r");
        } else if (starts(&at, "Cont")) {
            verdict = rsp_vcont(r, at);
        } else {
            reply(r, "");
        }
        break;
    default: reply(r, "");
    }
    r->waiting = verdict == RSP_RESUME;
    if (r->waiting)
        return verdict; /* the reply is sent when the target stops */
    if (r->reply_cut)
        reply(r, "E02");
    rsp_send(r);
    return verdict;
}

void rsp_init(struct rsp *r, const struct rsp_target *target)
{
    r->target = target;
    r->state = RSP_BETWEEN;
    r->reply_length = 0;
    r->thread = r->stop_thread = 1;
    r->step_thread = 0;
    r->stop_signal = RSP_SIGTRAP;
    r->stop_breakpoint = r->waiting = false;
    all_do(r, RSP_CONTINUE);
}
