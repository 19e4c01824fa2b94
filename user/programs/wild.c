/*
 * wild SEED CALLS [DEAR]: makes random system calls, of all there are, with random arguments, good and bad ones; with
 * handlers that are random too, children that do the same, and signals to all of them. It may end or hang in any way:
 * its parent ends it (test/process_fuzz.c). Of calls that make or end processes and threads, of alarms and of what
 * writes to the console, one in DEAR is made.
 */
#include <fcntl.h>
#include <stdbool.h>

#include "user/programs/random_calls.h"

#define MAPPED 0x20000000u
#define PAGE 4096u
#define DESCRIPTORS 14

static uint32_t calls, dear = 1;
static int ids[8];
static uint32_t buffer[64] __attribute__((aligned(16)));
static uint8_t stack[4][2048] __attribute__((aligned(16)));

extern char wild_trampoline[];
__asm__(".pushsection .text\n"
        "wild_trampoline:\n"
        "    mv a0, sp\n"
        "    li a7, 103\n"
        "    ecall\n"
        ".popsection\n");
_Static_assert(SYS_SIGRETURN == 103, "wild_trampoline");

/* A fault repeats after its handler returns. */
static void handler(int signal)
{
    static uint32_t faults;
    if ((signal == USER_SIGSEGV || signal == USER_SIGBUS || signal == USER_SIGILL) && !(++faults & 7))
        system_call(SYS_EXIT, signal, 0, 0);
}

static void make_calls(void);

static void thread(void *arg)
{
    (void)arg;
    make_calls();
}

static uint32_t pointer(void)
{
    uint32_t kind = below(16);
    if (kind < ODD_POINTERS)
        return odd_pointer(kind);
    switch (kind) {
    case 7:
    case 8: return MAPPED + below(8) * PAGE;
    case 9: return (uint32_t)ids;
    default: return (uint32_t)&buffer[below(60)];
    }
}

static uint32_t anything(void)
{
    return below(2) ? pointer() : below(3) ? below(DESCRIPTORS) : number();
}

static uint32_t some_id(void)
{
    return below(4) ? (uint32_t)ids[below(8)] : below(8) ? 0 : number();
}

/* Pointers, small numbers and words; sometimes all refilled, as a time or a set. */
static void scramble(void)
{
    buffer[below(64)] = below(3) ? below(3) : anything();
    if (!below(8)) {
        uint32_t at = below(15) * 4;
        buffer[at] = buffer[at + 1] = buffer[at + 3] = 0;
        buffer[at + 2] = below(3000);
    }
}

static void child(void)
{
    calls = calls / 2;
    random_state = random_state * 747796405u + 1;
    if (!random_state)
        random_state = 1;
    ids[below(8)] = system_call(SYS_GETPID, 0, 0, 0);
}

/* The next four: a call that is limited, as the run would end too soon. Returns whether it was one. */
static bool call_of_a_process(uint32_t n)
{
    int id;
    switch (n) {
    case SYS_EXIT:
    case SYS_THREAD_EXIT:
        if (!below(60))
            system_call(n, anything(), 0, 0);
        return true;
    case SYS_FORK:
        if (!below(4)) {
            id = system_call(SYS_FORK, 0, 0, 0);
            if (!id)
                child();
            else
                ids[below(8)] = id;
        }
        return true;
    case SYS_VFORK:
        if (!below(4)) {
            id = system_call(SYS_VFORK, 0, 0, 0);
            if (!id) {
                system_call(below(2) ? SYS_EXECVE : SYS_EXIT, (uint32_t)"status", pointer(), pointer());
                for (;;)
                    system_call(SYS_EXIT, 0, 0, 0);
            }
            ids[below(8)] = id;
        }
        return true;
    case SYS_EXECVE:
        if (!below(20))
            system_call(n, pointer(), pointer(), pointer());
        return true;
    case SYS_THREAD_SPAWN:
        if (!below(6))
            thread_start(thread, 0, stack[below(4)], sizeof stack[0]);
        else if (!below(40))
            system_call(n, pointer(), pointer(), pointer());
        return true;
    case SYS_WAIT4:
        system_call6(n, some_id(), pointer(), below(10) ? USER_WNOHANG : below(4), below(3) ? 0 : pointer(), 0, 0);
        return true;
    default: return false;
    }
}

static bool call_of_files(uint32_t n)
{
    switch (n) {
    case SYS_WRITE:
    case SYS_WRITEV:
    case SYS_READ:
    case SYS_READV: /* not to and from the console */
        system_call(n, 3 + below(DESCRIPTORS), pointer(), below(3) ? below(200) : number());
        return true;
    case SYS_IOCTL: { /* of the console, the terminal of some */
        static const uint32_t requests[] = {USER_FIONREAD,  USER_TIOCGETA,  USER_TIOCSETA,  USER_TIOCSETAW,
                                            USER_TIOCSETAF, USER_TIOCFLUSH, USER_TIOCDRAIN, USER_TIOCSTOP,
                                            USER_TIOCSTART, USER_TIOCOUTQ,  USER_TIOCSCTTY, USER_TIOCNOTTY,
                                            USER_TIOCGSID,  USER_TIOCGPGRP, USER_TIOCSPGRP};
        system_call(n, below(3), below(8) ? requests[below(sizeof requests / sizeof *requests)] : number(),
                    below(3) ? pointer() : (uint32_t)ids);
        return true;
    }
    case SYS_POLL: system_call(n, pointer(), below(4), below(3)); return true;
    case SYS_SELECT:
        system_call6(n, below(20), pointer(), pointer(), pointer(), (uint32_t)&buffer[below(15) * 4], 0);
        return true;
    default: return false;
    }
}

static bool call_of_signals(uint32_t n)
{
    switch (n) {
    case SYS_SIGRETURN:
        if (!below(20))
            system_call(n, pointer(), 0, 0);
        return true;
    case SYS_SIGSUSPEND:
        if (!below(10))
            system_call(n, pointer(), 0, 0);
        return true;
    case SYS_KILL:
    case SYS_KILLPG:
    case SYS_THREAD_KILL:
        if (!below(4))
            system_call(n, some_id(), below(4) ? below(36) : number(), 0);
        return true;
    case SYS_SIGACTION:
        buffer[0] = below(4) ? (uint32_t)handler : below(3) ? below(2) : anything();
        system_call6(n, below(34), below(6) ? (uint32_t)buffer : pointer(), below(4) ? 0 : pointer(),
                     (uint32_t)(below(20) ? wild_trampoline : 0), 0, 0);
        return true;
    default: return false;
    }
}

static bool call_of_memory_or_time(uint32_t n)
{
    switch (n) {
    case SYS_MMAP:
        system_call6(n, below(2) ? 0 : MAPPED + below(8) * PAGE, below(4) ? below(6) * PAGE : number(), below(8),
                     USER_MAP_ANON | 1u << below(2) | (below(3) ? 0 : USER_MAP_FIXED), below(DESCRIPTORS), 0);
        return true;
    case SYS_MUNMAP:
    case SYS_MPROTECT:
    case SYS_MINHERIT:
        system_call(n, below(12) ? MAPPED + below(8) * PAGE : anything(), below(6) ? below(6) * PAGE : number(),
                    below(8));
        return true;
    case SYS_SBRK: system_call(n, below(4) ? below(9000) - 4000 : number(), 0, 0); return true;
    case SYS_NANOSLEEP: system_call(n, (uint32_t)&buffer[below(15) * 4], pointer(), 0); return true;
    case SYS_FUTEX_WAIT: system_call(n, pointer(), below(3), (uint32_t)&buffer[below(15) * 4]); return true;
    default: return false;
    }
}

static bool call_with_care(uint32_t n)
{
    return call_of_a_process(n) || call_of_files(n) || call_of_signals(n) || call_of_memory_or_time(n);
}

/* Takes some hundred times as long as others, or ends a process that would have made more calls. */
static bool is_dear(uint32_t n)
{
    switch (n) {
    case SYS_EXIT:
    case SYS_THREAD_EXIT:
    case SYS_FORK:
    case SYS_VFORK:
    case SYS_SPAWN:
    case SYS_EXECVE:
    case SYS_THREAD_SPAWN:
    case SYS_KILL:
    case SYS_KILLPG:
    case SYS_THREAD_KILL:
    case SYS_SIGRETURN:
    case SYS_SETITIMER: return true;
    default: return false;
    }
}

/* Interrupts waiting calls, so that it continues. */
static void wake_up_now_and_then(void)
{
    static const struct user_sigaction action = {.handler = (uint32_t)handler};
    static const struct user_itimerval timer = {{0, 2500, 0}, {0, 2500, 0}};
    static const uint32_t none;
    system_call6(SYS_SIGACTION, USER_SIGALRM, (uint32_t)&action, 0, (uint32_t)wild_trampoline, 0, 0);
    system_call(SYS_SETITIMER, USER_ITIMER_REAL, (uint32_t)&timer, 0);
    system_call(SYS_SIGPROCMASK, USER_SIG_SETMASK, (uint32_t)&none, 0);
}

static void make_calls(void)
{
    static const uint8_t more[] = {SYS_FORK,      SYS_PIPE,         SYS_DUP,   SYS_DUP2,   SYS_READ,  SYS_WRITE,
                                   SYS_KILL,      SYS_SBRK,         SYS_MMAP,  SYS_MUNMAP, SYS_WAIT4, SYS_CLOSE,
                                   SYS_SETITIMER, SYS_SIGACTION,    SYS_VFORK, SYS_SPAWN,  SYS_OPEN,  SYS_SETPGID,
                                   SYS_EXECVE,    SYS_THREAD_SPAWN, SYS_IOCTL};
    while (calls) {
        if (calls-- % (12 * dear) == 0)
            wake_up_now_and_then();
        scramble();
        uint32_t n = below(2) ? more[below(sizeof more)] : below(SYS_CALLS + 2);
        if (n == SYS_SPAWN && below(10))
            continue;
        if (dear > 1 && is_dear(n) && below(dear))
            continue;
        if (!call_with_care(n))
            system_call6(n, anything(), anything(), anything(), anything(), anything(), anything());
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 0;
    random_state = strtoul(argv[1], 0, 0) * 2654435761u + 1;
    calls = strtoul(argv[2], 0, 0);
    if (argc > 3)
        dear = strtoul(argv[3], 0, 0);
    if (dear > 1 && below(dear))
        for (int fd = 0, null = open("/dev/null", O_RDWR); fd < 3; fd++)
            dup2(null, fd);
    make_calls();
    return 0;
}
