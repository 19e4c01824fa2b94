/* GDB's remote protocol, on a machine of two harts made of two arrays. Sources: debug/rsp.c */
#include "debug/rsp.h"

#include <stdio.h>
#include <string.h>

#include "lib/random.h"
#include "test/host/host.h"

#define BASE 0x1000u

static struct rsp rsp;
static char sent[3 * RSP_PACKET_SIZE];
static unsigned sent_length;
static uint8_t memory[64];
static uint32_t registers[2][RSP_CORE_REGISTERS + 2];
static uint32_t breakpoints[2][4]; /* set, cleared */
static unsigned breakpoint_count[2];
static char thread_name[32] = "main";

static void put(uint8_t c)
{
    CHECK(sent_length < sizeof sent - 1);
    sent[sent_length++] = (char)c;
    sent[sent_length] = 0;
}

static void describe(unsigned thread, char *name, unsigned name_size, char *text, unsigned text_size)
{
    snprintf(name, name_size, "hart %u", thread - 1);
    snprintf(text, text_size, "thread %s", thread_name);
}

static bool inside(uint32_t address, uint32_t n)
{
    return address >= BASE && n <= sizeof memory && address - BASE <= sizeof memory - n;
}

static bool read_memory(unsigned thread, uint32_t address, uint8_t *to, uint32_t n)
{
    CHECK(thread == 1 || thread == 2);
    if (!inside(address, n))
        return false;
    memcpy(to, memory + (address - BASE), n);
    return true;
}

static bool write_memory(unsigned thread, uint32_t address, const uint8_t *from, uint32_t n)
{
    CHECK(thread == 1 || thread == 2);
    if (!inside(address, n))
        return false;
    memcpy(memory + (address - BASE), from, n);
    return true;
}

static bool read_register(unsigned thread, unsigned number, uint32_t *value)
{
    CHECK(thread == 1 || thread == 2);
    if (number >= RSP_CORE_REGISTERS + 2)
        return false;
    *value = registers[thread - 1][number];
    return true;
}

static bool write_register(unsigned thread, unsigned number, uint32_t value)
{
    CHECK(thread == 1 || thread == 2);
    if (number == 2 || number >= RSP_CORE_REGISTERS)
        return value == registers[thread - 1][number];
    registers[thread - 1][number] = value;
    return true;
}

static bool note(unsigned list, uint32_t address)
{
    if (!inside(address, 4))
        return false;
    breakpoints[list][breakpoint_count[list]++ % 4] = address;
    return true;
}

static bool set_breakpoint(unsigned thread, uint32_t address)
{
    CHECK(thread == 1 || thread == 2);
    return note(0, address);
}

static bool clear_breakpoint(unsigned thread, uint32_t address)
{
    CHECK(thread == 1 || thread == 2);
    return note(1, address);
}

static struct rsp_target target = {
    .threads = 2,
    .description = "<target>the registers</target>",
    .put = put,
    .describe = describe,
    .read = read_memory,
    .write = write_memory,
    .read_register = read_register,
    .write_register = write_register,
    .set_breakpoint = set_breakpoint,
    .clear_breakpoint = clear_breakpoint,
};

static void begin(void)
{
    rsp_init(&rsp, &target);
    for (unsigned i = 0; i < sizeof memory; i++)
        memory[i] = (uint8_t)(i * 7);
    for (unsigned t = 0; t < 2; t++)
        for (unsigned n = 0; n < RSP_CORE_REGISTERS + 2; n++)
            registers[t][n] = 0x01020300u * (t + 1) + n;
}

static enum rsp_verdict receive(const char *bytes, unsigned n)
{
    enum rsp_verdict v = RSP_NOTHING;
    while (n--) {
        CHECK_EQUAL(v, RSP_NOTHING);
        v = rsp_receive(&rsp, (uint8_t)*bytes++);
    }
    return v;
}

static void clear(void)
{
    sent_length = 0;
    sent[0] = 0;
}

static const char *packet(const char *contents, unsigned length)
{
    static char text[2 * RSP_PACKET_SIZE];
    uint8_t sum = 0;
    for (unsigned i = 0; i < length; i++)
        sum += (uint8_t)contents[i];
    text[0] = '$';
    memcpy(text + 1, contents, length);
    sprintf(text + 1 + length, "#%02x", sum);
    return text;
}

/* Passes the contents of an undamaged command, and returns what is to be done. */
static enum rsp_verdict command_bytes(const char *contents, unsigned length)
{
    clear();
    CHECK_EQUAL(receive(packet(contents, length), length + 4), RSP_PACKET);
    CHECK_TEXT(sent, "+");
    clear();
    return rsp_execute(&rsp);
}

static enum rsp_verdict command(const char *contents)
{
    return command_bytes(contents, (unsigned)strlen(contents));
}

/* The contents of the one packet sent. */
static const char *answer(void)
{
    static char contents[RSP_PACKET_SIZE + 1];
    char *hash = memchr(sent, '#', sent_length);
    CHECK(sent[0] == '$' && hash && sent_length == (unsigned)(hash - sent) + 3);
    memcpy(contents, sent + 1, (size_t)(hash - sent) - 1);
    contents[hash - sent - 1] = 0;
    CHECK_TEXT(sent, packet(contents, (unsigned)strlen(contents)));
    return contents;
}

#define ANSWERS(text, should)                    \
    do {                                         \
        CHECK_EQUAL(command(text), RSP_NOTHING); \
        CHECK_TEXT(answer(), should);            \
    } while (0)

HOST_TEST(a_damaged_packet_is_asked_for_again)
{
    begin();
    CHECK_EQUAL(receive("$qC#b5", 6), RSP_NOTHING);
    CHECK_TEXT(sent, "-");
    clear();
    CHECK_EQUAL(receive("$qC#xy", 6), RSP_NOTHING);
    CHECK_TEXT(sent, "-");
    clear();
    CHECK_EQUAL(receive("$qRub$qC#b4", 11), RSP_PACKET); /* its end was lost */
    CHECK_TEXT(sent, "+");
    clear();
    rsp_execute(&rsp);
    CHECK_TEXT(answer(), "QC1");
}

HOST_TEST(a_lost_reply_is_repeated)
{
    begin();
    receive("-", 1);
    CHECK_EQUAL(sent_length, 0);
    ANSWERS("qC", "QC1");
    clear();
    receive("-", 1);
    CHECK_TEXT(answer(), "QC1");
    clear();
    receive("+", 1);
    CHECK_EQUAL(sent_length, 0);
}

HOST_TEST(an_interrupt_stands_between_packets)
{
    begin();
    CHECK_EQUAL(receive("\3", 1), RSP_INTERRUPT);
    CHECK_EQUAL(receive("+\3", 2), RSP_INTERRUPT);
    CHECK_EQUAL(receive("$\3#03", 5), RSP_PACKET);
    clear();
    rsp_execute(&rsp);
    CHECK_TEXT(answer(), "");
}

HOST_TEST(a_packet_that_is_too_long_is_an_unknown_command)
{
    static char text[RSP_PACKET_SIZE + 1];
    begin();
    memset(text, 'm', sizeof text);
    CHECK_EQUAL(command_bytes(text, sizeof text), RSP_NOTHING);
    CHECK_TEXT(answer(), "");
    CHECK_EQUAL(command_bytes(text, sizeof text - 1), RSP_NOTHING);
    CHECK_TEXT(answer(), "E01");
    ANSWERS("qC", "QC1");
}

HOST_TEST(memory_is_read_as_far_as_it_goes)
{
    begin();
    ANSWERS("m1000,4", "00070e15");
    ANSWERS("m1001,3", "070e15");
    ANSWERS("m1000,0", "");
    ANSWERS("m103f,1", "b9");
    ANSWERS("m103c,8", "a4abb2b9");
    ANSWERS("m1040,1", "E01");
    ANSWERS("mfff,2", "E01");
    ANSWERS("m1000", "E01");
    ANSWERS("m,4", "E01");
    ANSWERS("m1000;4", "E01");
    command("m1000,ffffffff");
    CHECK_EQUAL(strlen(answer()), 2 * sizeof memory);
}

HOST_TEST(memory_is_written_whole_or_not_at_all)
{
    begin();
    ANSWERS("M1000,4:11223344", "OK");
    ANSWERS("m1000,5", "112233441c");
    ANSWERS("M103e,4:11223344", "E01");
    ANSWERS("m103e,2", "b2b9");
    ANSWERS("M1000,4:112233", "E01");
    ANSWERS("M1000,4:1122334455", "E01");
    ANSWERS("M1000,4:1122334x", "E01");
    ANSWERS("M1000,0:", "OK");
    ANSWERS("m1000,4", "11223344");
}

HOST_TEST(binary_writes_are_unescaped)
{
    begin();
    static const char text[] = "X1000,5:a}\3}]\0z"; /* 0x03 ^ 0x20 is '#', 0x5d ^ 0x20 is '}' */
    CHECK_EQUAL(command_bytes(text, sizeof text - 1), RSP_NOTHING);
    CHECK_TEXT(answer(), "OK");
    CHECK(!memcmp(memory, "a#}\0z", 5));
    ANSWERS("X1000,0:", "OK");
    ANSWERS("X0,0:", "OK");
    ANSWERS("X1000,2:a", "E01");
    ANSWERS("X1000,1:ab", "E01");
    ANSWERS("X1040,1:a", "E01");
    ANSWERS("X1000,1:}", "E01");
}

HOST_TEST(registers_lie_as_in_memory)
{
    begin();
    ANSWERS("p1", "01030201");
    ANSWERS("p20", "20030201");
    ANSWERS("p22", "22030201");
    ANSWERS("p23", "xxxxxxxx");
    ANSWERS("pz", "E01");
    ANSWERS("P5=78563412", "OK");
    CHECK_EQUAL(registers[0][5], 0x12345678);
    ANSWERS("P2=00000000", "E01");
    ANSWERS("P2=02030201", "OK");
    ANSWERS("P5=7856341", "E01");
    command("g");
    char all[8 * RSP_CORE_REGISTERS + 2] = "G";
    CHECK_EQUAL(strlen(answer()), 8 * RSP_CORE_REGISTERS);
    CHECK(!strncmp(answer() + 8 * 5, "7856341206030201", 16));
    strcpy(all + 1, answer());
    memcpy(all + 1 + 8 * 7, "ddccbbaa", 8);
    ANSWERS(all, "OK");
    CHECK_EQUAL(registers[0][7], 0xaabbccdd);
    all[sizeof all - 3] = 0;
    ANSWERS(all, "E01");
}

HOST_TEST(threads_are_chosen_for_registers)
{
    begin();
    ANSWERS("Hg2", "OK");
    ANSWERS("p1", "01060402");
    ANSWERS("qC", "QC2");
    ANSWERS("Hg0", "OK"); /* any: the one that stopped */
    ANSWERS("p1", "01030201");
    ANSWERS("Hg3", "E01");
    ANSWERS("Hg-2", "E01");
    ANSWERS("Hc-1", "OK");
    ANSWERS("H", "E01");
    ANSWERS("Hx1", "E01");
    ANSWERS("T1", "OK");
    ANSWERS("T2", "OK");
    ANSWERS("T3", "E01");
    ANSWERS("T0", "E01");
    ANSWERS("qfThreadInfo", "m1,2");
    ANSWERS("qsThreadInfo", "l");
}

HOST_TEST(documents_are_read_in_parts)
{
    begin();
    ANSWERS("qXfer:features:read:target.xml:0,8", "m<target>");
    ANSWERS("qXfer:features:read:target.xml:8,ffff", "lthe registers</target>");
    ANSWERS("qXfer:features:read:target.xml:1e,4", "l");
    ANSWERS("qXfer:features:read:target.xml:1f,4", "E01");
    ANSWERS("qXfer:features:read:other.xml:0,8", "");
    ANSWERS("qXfer:threads:read::0,fff", "l<threads><thread id=\"1\" core=\"0\" name=\"hart 0\">thread main</thread>"
                                         "<thread id=\"2\" core=\"1\" name=\"hart 1\">thread main</thread></threads>");
    strcpy(thread_name, "<a&b>\"\n#$}*");
    command("qXfer:threads:read::0,fff");
    CHECK(strstr(answer(), ">thread ?a?b???????"
                           "</thread>"));
}

HOST_TEST(breakpoints_are_of_one_kind)
{
    begin();
    ANSWERS("Z0,1004,4", "OK");
    CHECK_EQUAL(breakpoint_count[0], 1);
    CHECK_EQUAL(breakpoints[0][0], 0x1004);
    ANSWERS("z0,1004,4", "OK");
    CHECK_EQUAL(breakpoint_count[1], 1);
    ANSWERS("Z0,1006,4", "E01");
    ANSWERS("Z0,1004,2", "E01");
    ANSWERS("Z0,2000,4", "E01");
    ANSWERS("Z0,1004", "E01");
    ANSWERS("Z1,1004,4", "");
    ANSWERS("Z2,1004,4", "");
    CHECK_EQUAL(breakpoint_count[0], 1);
}

static void check_actions(enum rsp_resume first, enum rsp_resume second)
{
    CHECK_EQUAL(rsp.action[0].resume, first);
    CHECK_EQUAL(rsp.action[1].resume, second);
    CHECK_EQUAL(sent_length, 0);
}

HOST_TEST(the_first_action_for_a_thread_holds)
{
    begin();
    check_actions(RSP_CONTINUE, RSP_CONTINUE);
    ANSWERS("vCont?", "vCont;c;C;s;S;r");
    CHECK_EQUAL(command("vCont;s:2;c"), RSP_RESUME);
    check_actions(RSP_CONTINUE, RSP_STEP);
    CHECK_EQUAL(command("vCont;c:1"), RSP_RESUME);
    check_actions(RSP_CONTINUE, RSP_HOLD);
    CHECK_EQUAL(command("vCont;r1000,1010:1;C05:-1"), RSP_RESUME);
    check_actions(RSP_STEP, RSP_CONTINUE);
    CHECK_EQUAL(rsp.action[0].begin, 0x1000);
    CHECK_EQUAL(rsp.action[0].end, 0x1010);
    CHECK_EQUAL(command("vCont;s"), RSP_RESUME);
    check_actions(RSP_STEP, RSP_STEP);
    CHECK_EQUAL(rsp.action[0].end, 0);
    ANSWERS("vCont;x", "E01");
    ANSWERS("vCont;c:9", "E01");
    ANSWERS("vCont;c:1:2", "E01");
    ANSWERS("vCont;", "E01");
    ANSWERS("vContinue", "E01");
    ANSWERS("vMustReplyEmpty", "");
    CHECK_EQUAL(command("Hc2"), RSP_NOTHING);
    CHECK_EQUAL(command("s"), RSP_RESUME);
    check_actions(RSP_CONTINUE, RSP_STEP);
    CHECK_EQUAL(command("c"), RSP_RESUME);
    check_actions(RSP_CONTINUE, RSP_CONTINUE);
    ANSWERS("c1000", "E01");
}

HOST_TEST(gdb_hears_of_a_stop_once_and_only_if_it_waits)
{
    begin();
    rsp_stopped(&rsp, 2, RSP_SIGINT, false);
    CHECK_EQUAL(sent_length, 0);
    ANSWERS("?", "T02thread:2;");
    ANSWERS("qC", "QC2");
    command("vCont;c");
    rsp_stopped(&rsp, 1, RSP_SIGTRAP, true);
    CHECK_TEXT(answer(), "T05thread:1;swbreak:;");
    clear();
    rsp_stopped(&rsp, 2, RSP_SIGTRAP, true);
    rsp_console(&rsp, "text");
    rsp_exited(&rsp, 1);
    CHECK_EQUAL(sent_length, 0);
    command("vCont;c");
    rsp_console(&rsp, "hi\n");
    CHECK_TEXT(answer(), "O68690a");
    clear();
    rsp_exited(&rsp, 0xad);
    CHECK_TEXT(answer(), "Wad");
}

HOST_TEST(another_debugger_is_not_answered_with_a_stop)
{
    begin();
    command("vCont;c");
    CHECK_EQUAL(receive("$?#3f", 5), RSP_PACKET);
    clear();
    rsp_stopped(&rsp, 1, RSP_SIGINT, false);
    CHECK_EQUAL(sent_length, 0);
    rsp_execute(&rsp);
    CHECK_TEXT(answer(), "T02thread:1;");
}

HOST_TEST(leaving_lets_all_run)
{
    begin();
    command("vCont;c:1");
    CHECK_EQUAL(command("D"), RSP_DETACH);
    CHECK_TEXT(answer(), "OK");
    CHECK_EQUAL(rsp.action[1].resume, RSP_CONTINUE);
    CHECK_EQUAL(command("k"), RSP_KILL);
}

HOST_TEST(supported_features_are_named)
{
    begin();
    command("qSupported:multiprocess+;swbreak+");
    CHECK(strstr(answer(), "PacketSize=800;"));
    CHECK(strstr(answer(), "qXfer:features:read+"));
    ANSWERS("qAttached", "1");
    ANSWERS("qUnheardOf", "");
    ANSWERS("_", "");
    ANSWERS("", "");
}

/* Whatever comes, no access is out of bounds (the sanitizers check), and a right packet is still answered. */
HOST_TEST(any_bytes_do_no_harm)
{
    static const char letters[] = "$#+-\3:;,=0123456789abcdefgGpPmMXHTqZzDcsvCont?r}*-";
    struct random r = random_from(1, 0);
    begin();
    for (unsigned turn = 0; turn < 20000; turn++) {
        char text[40];
        unsigned n = random_below(&r, sizeof text);
        for (unsigned i = 0; i < n; i++)
            text[i] = random_below(&r, 8) ? letters[random_below(&r, sizeof letters - 1)] : (char)random_below(&r, 256);
        if (random_below(&r, 2)) { /* a whole packet of it */
            const char *whole = packet(text, n);
            for (unsigned i = 0; i < n + 4; i++)
                if (rsp_receive(&rsp, (uint8_t)whole[i]) == RSP_PACKET)
                    rsp_execute(&rsp);
        } else {
            for (unsigned i = 0; i < n; i++)
                if (rsp_receive(&rsp, (uint8_t)text[i]) == RSP_PACKET)
                    rsp_execute(&rsp);
        }
        clear();
    }
    receive("$#00", 4);
    ANSWERS("qC", rsp.thread == 1 ? "QC1" : "QC2");
}
