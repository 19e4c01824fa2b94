/*
 * GDB's remote serial protocol, the hardware-independent part: packets, their checks and repetition, and the
 * commands, which act on the machine through `struct rsp_target`. Threads are numbered from 1, as GDB requires.
 * Source: Debugging with GDB, appendix "GDB Remote Serial Protocol". All threads stop together ("all-stop"), no
 * extensions for several processes.
 *
 * Locking: none; one hart at a time uses a `struct rsp`.
 */
#ifndef DEBUG_RSP_H
#define DEBUG_RSP_H

#include <stdbool.h>
#include <stdint.h>

#define RSP_MAX_THREADS 8
#define RSP_PACKET_SIZE 2048 /* bytes of a packet's contents, in either direction */
#define RSP_INTERRUPT_CHARACTER 3 /* GDB sends it, outside of packets, to stop a running target */

/* Signals as GDB numbers them (include/gdb/signals.def). */
enum rsp_signal { RSP_SIGINT = 2, RSP_SIGILL = 4, RSP_SIGTRAP = 5, RSP_SIGABRT = 6, RSP_SIGBUS = 10, RSP_SIGSEGV = 11 };

/* Registers: x0 to x31, pc, and those that follow in the target's description. */
#define RSP_PC 32
#define RSP_CORE_REGISTERS 33

struct rsp_target {
    unsigned threads; /* at most RSP_MAX_THREADS */
    const char *description; /* target.xml */
    void (*put)(uint8_t c); /* to GDB */
    /* The text of "info threads" for a thread: its name, and what it does. */
    void (*describe)(unsigned thread, char *name, unsigned name_size, char *text, unsigned text_size);
    /* Memory as `thread` sees it, and registers. False if there is none or it cannot be written. */
    bool (*read)(unsigned thread, uint32_t address, uint8_t *to, uint32_t n);
    bool (*write)(unsigned thread, uint32_t address, const uint8_t *from, uint32_t n);
    bool (*read_register)(unsigned thread, unsigned number, uint32_t *value);
    bool (*write_register)(unsigned thread, unsigned number, uint32_t value);
    /* Breakpoints take effect when the target runs. Setting one that is already set, or clearing none, succeeds. */
    bool (*set_breakpoint)(unsigned thread, uint32_t address);
    bool (*clear_breakpoint)(unsigned thread, uint32_t address);
};

/*
 * What a thread does when the target runs. RSP_STEP ends when it has left [begin, end): at once if that is empty.
 */
enum rsp_resume { RSP_HOLD, RSP_CONTINUE, RSP_STEP };
struct rsp_action {
    enum rsp_resume resume;
    uint32_t begin, end;
};

/* What the machine must do after a received byte. */
enum rsp_verdict {
    RSP_NOTHING,
    RSP_INTERRUPT, /* GDB asks a running target to stop */
    RSP_PACKET, /* a packet is complete: call rsp_execute, when the target has stopped */
    RSP_RESUME, /* let every thread execute its `action` */
    RSP_DETACH, /* GDB disconnects: remove all breakpoints; every thread's action is to continue */
    RSP_KILL, /* end the machine's run */
};

struct rsp {
    const struct rsp_target *target;
    struct rsp_action action[RSP_MAX_THREADS]; /* of thread n + 1 */
    unsigned thread; /* for registers and memory ("Hg") */
    unsigned step_thread; /* for the old commands "c" and "s" ("Hc"); 0: any */
    unsigned stop_thread; /* of the last stop reply: the thread and its signal */
    enum rsp_signal stop_signal;
    bool stop_breakpoint;
    bool waiting; /* GDB has resumed the target and waits for it to stop */
    /* receiving */
    enum { RSP_BETWEEN, RSP_BODY, RSP_CHECK_HIGH, RSP_CHECK_LOW } state;
    uint8_t sum, check;
    bool too_long;
    unsigned length; /* of in[] */
    char in[RSP_PACKET_SIZE + 1]; /* ended by a 0 */
    /* the last packet sent, kept until GDB acknowledges it */
    unsigned reply_length;
    bool reply_cut; /* it did not fit: an error is sent instead */
    char reply[RSP_PACKET_SIZE];
    char list[RSP_MAX_THREADS * 160 + 32]; /* of threads: not on the stack, which is that of the stopped code */
};

/* Until the first command, every thread's action is to continue. */
void rsp_init(struct rsp *r, const struct rsp_target *target);

/* A byte from GDB. Acknowledges packets, drops damaged ones, repeats the last reply on request. */
enum rsp_verdict rsp_receive(struct rsp *r, uint8_t c);

/* Execute the packet that rsp_receive announced, and reply. RSP_RESUME and RSP_KILL have no reply. */
enum rsp_verdict rsp_execute(struct rsp *r);

/*
 * The target has stopped: `thread` did, by `signal`, on a breakpoint or not. Reports that if GDB waits for it, else it
 * will ask.
 */
void rsp_stopped(struct rsp *r, unsigned thread, enum rsp_signal signal, bool breakpoint);

/* If GDB waits for the target to stop: show a text there; report that the run has ended. */
void rsp_console(struct rsp *r, const char *text);
void rsp_exited(struct rsp *r, uint8_t code);
#endif
