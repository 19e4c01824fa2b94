/*
 * What programs and the kernel agree on. A system call is ECALL with its number in a7 and up to five arguments from a0;
 * a0 gives its result, or minus an error number of <errno.h>. All other registers are kept.
 *
 *   exit(status)                           ends the process, all its threads with it
 *   write(fd, from, n), read(fd, to, n)    1 and 2 are the console; 0 is a line typed there, with its end
 *   spawn(name, argv)                      starts a program of the image; argv ends with 0; gives the new process's id;
 *                                          ENOMEM if memory is out, EAGAIN if the kernel has no thread left
 *   wait(status)                           waits for any child to end; gives its id, or ECHILD if there is none
 *   getpid(), gettid()                     a process's first thread has the process's id
 *   sbrk(bytes)                            raises the break by 0 or more bytes; gives the old one; it cannot be lowered.
 *                                          ENOMEM if memory is out, or a page below the stack is reached
 *   sched_yield()
 *   nanosleep(how_long)                    at least so long, in whole clock ticks; EINVAL if the clock does not tick
 *   clock_gettime(clock, now)              either clock of those below: the time since reset
 *   futex_wait(word, value, limit)         sleeps while *word is `value`, until woken; EAGAIN if it is another;
 *                                          ETIMEDOUT after `limit` (0: never)
 *   futex_wake(word, most)                 wakes up to `most` sleepers, oldest first; gives their number
 *   thread_spawn(entry, argument, stack)   a thread of this process that starts at entry(argument) with sp = stack;
 *                                          gives its id; errors as spawn
 *   thread_exit()                          ends this thread; with the last one the process, with status 0
 *
 * Times are struct user_timespec. A program that is ended by a trap has as its status the number of a signal, as POSIX
 * names it; one that exits has status << 8, cut to 8 bits.
 */
#ifndef USER_ABI_H
#define USER_ABI_H

#define SYS_EXIT 0
#define SYS_WRITE 1
#define SYS_READ 2
#define SYS_SPAWN 3
#define SYS_WAIT 4
#define SYS_GETPID 5
#define SYS_GETTID 6
#define SYS_SBRK 7
#define SYS_SCHED_YIELD 8
#define SYS_NANOSLEEP 9
#define SYS_CLOCK_GETTIME 10
#define SYS_FUTEX_WAIT 11
#define SYS_FUTEX_WAKE 12
#define SYS_THREAD_SPAWN 13
#define SYS_THREAD_EXIT 14
#define SYS_CALLS 15

/* Clocks, as Linux numbers them. */
#define USER_CLOCK_REALTIME 0
#define USER_CLOCK_MONOTONIC 1

/* A process starts with sp on argc, behind which are argv's pointers and a 0; a0 = argc, a1 = argv. */
#define USER_STACK_TOP 0x3ffff000
#define USER_STACK_SIZE 8192
#define USER_ARGUMENTS_MOST 1024 /* bytes of argv's strings together, with their final 0s */
#define USER_ARGUMENT_COUNT 16
#define USER_NAME_SIZE 32 /* of a program, with the final 0 */

/* Signals, as Linux numbers them. */
#define USER_SIGILL 4
#define USER_SIGTRAP 5
#define USER_SIGBUS 7
#define USER_SIGSEGV 11

#ifndef __ASSEMBLER__
#include <stdint.h>

struct user_timespec {
    int64_t seconds;
    int32_t nanoseconds;
    int32_t zero;
};
#endif
#endif
