/* From crt0.S to main and out again. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/lock.h>
#include <unistd.h>

#include "user/lib/system.h"
#include "user/lib/thread_local.h"

extern void (*const _init_begin[])(void), (*const _init_end[])(void);
extern char **environ;

/*
 * Functions that the C library has too, and calls itself: named here, where each program begins, they are linked from
 * this library. The linker drops the table.
 */
__attribute__((used)) static void (*const ours[])(void) = {(void (*)(void))fdopen, (void (*)(void))raise,
                                                           (void (*)(void))__retarget_lock_init};

volatile uint32_t thread_count = 1;

int main(int argc, char **argv, char **envp);

_Noreturn void program_start(int argc, char **argv, char **envp)
{
    static char *none[1];
    memcpy(__builtin_thread_pointer(), _thread_local_begin, (uint32_t)_thread_local_data); /* the rest is in .bss */
    environ = envp ? envp : none;
    for (void (*const *init)(void) = _init_begin; init < _init_end; init++)
        (*init)();
    exit(main(argc, argv, environ));
}

void _fini(void) {} /* of the C library's exit */

_Noreturn void _exit(int status)
{
    for (;;)
        system_call(SYS_EXIT, (uint32_t)status, 0, 0);
}
