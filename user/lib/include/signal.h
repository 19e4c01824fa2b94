/* picolibc's, and the flags of sigaction that it lacks, as the kernel numbers them (user/abi.h). */
#ifndef USER_SIGNAL_H
#define USER_SIGNAL_H

#include_next <signal.h>

#define SA_SIGINFO 0x2
#ifndef SA_ONSTACK
#define SA_ONSTACK 0x4
#endif
#define SA_RESTART 0x10000000
#define SA_NOCLDWAIT 0x20000000
#define SA_NODEFER 0x40000000
#define SA_RESETHAND 0x80000000

int siginterrupt(int number, int interrupts);
#endif
