/*
 * Which harts stop and run, and what is reported (server.h). The machine is stopped, or it runs in one of three ways:
 *
 *   FREE    every hart does what GDB asked for
 *   SHARE   one hart is to step, and waits; the others that GDB continues run for SHARE_CYCLES
 *   STEP    that hart makes its step; all others wait, so that no other hart hits the step's breakpoint
 *
 * so in a loop of steps the others make progress too, as a hart may wait for them. Uses no library.
 */
#include "debug/server.h"

#include "arch/atomic.h"
#include "arch/clint.h"
#include "arch/csr.h"
#include "debug/break.h"
#include "debug/debug.h"
#include "debug/harts.h"
#include "debug/line.h"
#include "debug/memory.h"
#include "debug/rsp.h"
#include "debug/step.h"
#include "debug/target.h"
#include "dev/host.h"

#define SHARE_CYCLES 2000
#define STEPS_BETWEEN_SHARES 8 /* of a step through a range */

static volatile uint32_t lock;

static struct {
    enum { RUNS, STOPPED } state;
    bool deaf; /* until the first stop */
    enum { FREE, SHARE, STEP } way;
    volatile enum rsp_verdict request; /* GDB's, while the machine runs */
    unsigned stepper;                  /* a hart */
    unsigned steps;
    uint32_t share_began;
    struct rsp rsp;
} server;

bool server_try(void)
{
    return !lock && !atomic_swap_acquire_release(&lock, 1);
}

void server_release(void)
{
    fence_release();
    lock = 0;
}

bool server_wants_stop(void)
{
    return server.request != RSP_NOTHING;
}

static bool continues(unsigned hart)
{
    return server.rsp.action[hart].resume == RSP_CONTINUE;
}

/* Running ---------------------------------------------------------------------------------------------------------- */

static bool should_run(unsigned hart)
{
    return server.way == STEP ? hart == server.stepper
                              : continues(hart) || (server.way == FREE && server.rsp.action[hart].resume == RSP_STEP);
}

static void server_let_go(struct debug_hart *h)
{
    h->stopped = false;
    fence_release();
    h->go = true;
}

static void server_run(int way)
{
    server.way = way;
    server.state = RUNS;
    server.share_began = cycles32();
    break_insert();
    line_interrupts(true);
    for (unsigned h = 0; h < hart_count; h++)
        if (debug_harts[h].stopped && should_run(h))
            server_let_go(&debug_harts[h]);
}

static bool all_stopped(void)
{
    for (unsigned h = 0; h < hart_count; h++)
        if (!debug_harts[h].stopped)
            return false;
    return true;
}

static void stop_all(void)
{
    uint32_t begin = cycles32();
    line_interrupts(false);
    for (unsigned h = 0; h < hart_count; h++)
        if (!debug_harts[h].stopped) {
            debug_harts[h].stop = 1;
            io_fence();
            clint_set_software(h);
        }
    while (!all_stopped() && cycles32() - begin < DEBUG_STOP_CYCLES)
        line_fill();
    fence_acquire();
    server.state = STOPPED;
    server.deaf = false;
    break_remove();
}

/* Stopped ---------------------------------------------------------------------------------------------------------- */

static uint32_t pc_of(unsigned hart)
{
    return debug_harts[hart].frame->mepc;
}

static bool instruction_at(void *hart, uint32_t address, uint32_t *instruction)
{
    return !(address & 3) && memory_read(hart, address, (uint8_t *)instruction, 4);
}

static bool at_breakpoint(unsigned hart)
{
    uint32_t physical;
    return memory_code(&debug_harts[hart], pc_of(hart), &physical) && break_is_set(physical);
}

/* GDB may have sent a command before the module listened: asks it to repeat. */
static void ask_again(void)
{
    line_put('-');
}

/* Prints where a user will see it. */
static void say(const char *text)
{
    if (server.rsp.waiting)
        rsp_console(&server.rsp, text);
    else
        line_tell_console(text);
}

static void server_report(unsigned hart, enum rsp_signal signal, bool breakpoint)
{
    struct debug_hart *h = &debug_harts[hart];
    if (h->message) {
        say("panic: ");
        say(h->message);
        say("\n");
        h->message = 0;
    }
    if (!server.rsp.waiting && !server_wants_stop()) {
        say("\nstopped: GDB is awaited on the data port\n");
        ask_again();
    }
    h->signal = 0;
    rsp_stopped(&server.rsp, hart + 1, signal, breakpoint);
}

/* A hart that GDB resumed and that has something to report; hart_count: none. */
static unsigned eventful(void)
{
    unsigned h = 0;
    while (h < hart_count &&
           !(debug_harts[h].stopped && debug_harts[h].signal && server.rsp.action[h].resume != RSP_HOLD))
        h++;
    return h;
}

static bool anybody_continues(void)
{
    for (unsigned h = 0; h < hart_count; h++)
        if (continues(h))
            return true;
    return false;
}

static uint32_t register_of(void *hart, unsigned number)
{
    uint32_t value = 0;
    debug_target.read_register((unsigned)((struct debug_hart *)hart - debug_harts) + 1, number, &value);
    return value;
}

static void server_step(void);

static void step_ended(void)
{
    const struct rsp_action *a = &server.rsp.action[server.stepper];
    bool breakpoint = at_breakpoint(server.stepper);
    if (breakpoint || pc_of(server.stepper) - a->begin >= a->end - a->begin)
        server_report(server.stepper, RSP_SIGTRAP, breakpoint);
    else if (anybody_continues() && ++server.steps % STEPS_BETWEEN_SHARES == 0)
        server_run(SHARE);
    else
        server_step();
}

static void server_step(void)
{
    struct debug_hart *h = &debug_harts[server.stepper];
    struct step_source source = {.instruction = instruction_at, .register_ = register_of, .arg = h};
    uint32_t targets[STEP_MAX_TARGETS], physical, instruction;
    if (!instruction_at(h, h->frame->mepc, &instruction)) {
        server_report(server.stepper, RSP_SIGSEGV, false);
        return;
    }
    if (step_is_wfi(instruction) || (h->at_ebreak && instruction == EBREAK)) {
        h->frame->mepc += 4;
        h->at_ebreak = false;
        step_ended();
        return;
    }
    unsigned n = step_targets(&source, h->frame->mepc, targets);
    bool ok = n > 0;
    for (unsigned i = 0; i < n; i++)
        ok = ok && memory_code(h, targets[i], &physical) && break_set_once(physical);
    if (!ok) { /* the hart stays where it is */
        break_clear_once();
        server_report(server.stepper, RSP_SIGILL, false);
        return;
    }
    h->stepping = true;
    h->stepped = false;
    h->masked = !step_is_ecall(instruction);
    server_run(STEP);
}

/* The machine has just been stopped: determines why. `hart` is the one that stopped it. */
static void decide(unsigned hart)
{
    enum rsp_verdict request = server.request;
    unsigned event = eventful();
    if (request == RSP_INTERRUPT)
        server.request = RSP_NOTHING; /* converse() handles a packet */
    if (event < hart_count)
        server_report(event, debug_harts[event].signal, debug_harts[event].breakpoint);
    else if (request != RSP_NOTHING)
        server_report(hart, RSP_SIGINT, false);
    else if (server.way == STEP)
        step_ended();
    else if (debug_harts[server.stepper].stopped)
        server_step();
    else
        server_report(hart, RSP_SIGINT, false); /* the stepping hart does not answer */
}

/* GDB resumes the machine. First reports an event that was delayed by another report, if there is one. */
static void server_resume(void)
{
    const struct rsp_action *action = server.rsp.action;
    unsigned steps = hart_count, event;
    for (unsigned h = 0; h < hart_count; h++)
        if (debug_harts[h].stopped && debug_harts[h].breakpoint && !at_breakpoint(h))
            debug_harts[h].signal = 0; /* the breakpoint has been removed meanwhile */
    event = eventful();
    if (event < hart_count) {
        server_report(event, debug_harts[event].signal, debug_harts[event].breakpoint);
        return;
    }
    for (unsigned h = hart_count; h--;) {
        uint32_t instruction;
        if (action[h].resume == RSP_STEP && debug_harts[h].stopped)
            steps = h;
        else if (action[h].resume == RSP_CONTINUE && debug_harts[h].stopped && debug_harts[h].at_ebreak &&
                 instruction_at(&debug_harts[h], pc_of(h), &instruction) && instruction == EBREAK)
            debug_harts[h].frame->mepc += 4; /* an EBREAK of the program, which has been reported */
    }
    server.stepper = steps;
    server.steps = 0;
    if (steps == hart_count)
        server_run(FREE);
    else if (anybody_continues())
        server_run(SHARE);
    else
        server_step();
}

static void obey(enum rsp_verdict verdict)
{
    if (verdict == RSP_KILL)
        host_exit(DEBUG_KILLED_EXIT_CODE);
    if (verdict == RSP_DETACH)
        break_clear_all();
    if (verdict == RSP_RESUME || verdict == RSP_DETACH)
        server_resume();
}

static void converse(void)
{
    while (server.state == STOPPED) {
        enum rsp_verdict said = server.request;
        server.request = RSP_NOTHING;
        for (int c; said == RSP_NOTHING && (c = line_get()) >= 0;)
            said = rsp_receive(&server.rsp, (uint8_t)c);
        if (said == RSP_PACKET)
            obey(rsp_execute(&server.rsp));
    }
}

/* A packet stays in the protocol's buffer until the machine has stopped. */
void server_listen(void)
{
    for (int c; server.state == RUNS && !server.deaf && server.request == RSP_NOTHING && (c = line_get()) >= 0;)
        server.request = rsp_receive(&server.rsp, (uint8_t)c);
    if (server.request != RSP_NOTHING)
        line_interrupts(false); /* more input would keep this hart from being stopped */
}

static bool way_ends(void)
{
    switch (server.way) {
    case SHARE: return cycles32() - server.share_began >= SHARE_CYCLES;
    case STEP: return debug_harts[server.stepper].stepped;
    default: return false;
    }
}

void server_serve(unsigned hart)
{
    if (server.state == RUNS) {
        server_listen();
        if (server.request != RSP_NOTHING || eventful() < hart_count || way_ends()) {
            stop_all();
            decide(hart);
        } else if (server.way != STEP && should_run(hart)) {
            server_let_go(&debug_harts[hart]); /* a late response to a request to stop */
        }
    }
    converse();
}

void server_init(unsigned count, bool wait)
{
    server.deaf = wait;
    line_interrupts(!wait);
    if (!wait)
        ask_again();
    debug_target.threads = count;
    rsp_init(&server.rsp, &debug_target);
}

void server_exit(uint32_t code)
{
    rsp_exited(&server.rsp, (uint8_t)code);
}
