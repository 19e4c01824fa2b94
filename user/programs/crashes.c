/*
 * crashes: runs `crash` in every way that it knows, each in a process of its own, and checks which signal ends it.
 * Prints @crashes ways=... and exits with 0 if all are right.
 */
#include <stdio.h>

#include "user/lib/system.h"

static const struct {
    const char *how;
    int signal;
} ways[] = {
    {"load-null", USER_SIGSEGV},    {"load-kernel", USER_SIGSEGV},
    {"load-device", USER_SIGSEGV},  {"load-misaligned", USER_SIGBUS},
    {"store-null", USER_SIGSEGV},   {"store-kernel", USER_SIGSEGV},
    {"store-device", USER_SIGSEGV}, {"store-text", USER_SIGSEGV},
    {"store-rodata", USER_SIGSEGV}, {"store-behind-stack", USER_SIGSEGV},
    {"jump-null", USER_SIGSEGV},    {"jump-kernel", USER_SIGSEGV},
    {"jump-data", USER_SIGSEGV},    {"jump-rodata", USER_SIGSEGV},
    {"stack", USER_SIGSEGV},        {"illegal", USER_SIGILL},
    {"csr", USER_SIGILL},           {"satp", USER_SIGILL},
    {"mret", USER_SIGILL},          {"wfi", USER_SIGILL},
    {"sfence", USER_SIGILL},        {"break", USER_SIGTRAP},
    {"thread", USER_SIGSEGV},
};

int main(void)
{
    unsigned n = sizeof ways / sizeof *ways, wrong = 0;
    for (unsigned i = 0; i < n; i++) {
        const char *argv[] = {"crash", ways[i].how, 0};
        int status = -1, id = spawn("crash", argv), ended = wait_child(&status);
        if (id < 0 || ended != id || status != ways[i].signal) {
            printf("crash %s: process %d, ended %d with status %#x, should be %#x\n", ways[i].how, id, ended,
                   (unsigned)status, (unsigned)ways[i].signal);
            wrong++;
        }
    }
    printf("@crashes ways=%u wrong=%u\n", n, wrong);
    return wrong != 0;
}
