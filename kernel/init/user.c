/*
 * run=user: starts the program of the boot argument program=NAME, with the words of args=A,B,C as its arguments, and
 * waits for it and its descendants. The exit code is the program's; 128 + signal if a trap ended it, as in
 * shells.
 */
#include <errno.h>
#include <string.h>

#include "arch/boot.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "proc/archive.h"
#include "proc/mounts.h"
#include "proc/run.h"

#define USAGE_EXIT_CODE 2
#define SIGNAL_EXIT_CODE 128

static int usage(const char *name)
{
    kprintf("program=%s: there is no such program; this image has\n", name);
    const char *has;
    for (uint32_t at = 0; (has = archive_next(&at));)
        kprintf("  program=%s\n", has);
    return USAGE_EXIT_CODE;
}

static int init_user(void)
{
    char name[USER_NAME_SIZE];
    static char words[BOOTARGS_SIZE]; /* at most as many as the boot arguments hold */
    static struct arguments arguments;
    arguments_clear(&arguments);
    arguments_add(&arguments, bootargs_string(BOOT(kernel, program), name, sizeof name));
    char *rest = (char *)bootargs_string(BOOT(kernel, args), words, sizeof words);
    for (char *word; (word = strtok_r(rest, ",", &rest));)
        arguments_add(&arguments, word);
    int id = process_spawn(0, name, &arguments, ANY_HART);
    int status = id > 0 ? user_wait_for_all(id) : 0;
    assert(process_none_left());
    int error = mounts_stop(); /* also if nothing has run: the disk is to be left clean */
    if (id == -ENOENT)
        return usage(name);
    if (id < 0)
        kprintf("program=%s: %s\n", name, strerror(-id));
    if (id < 0 || error)
        return USAGE_EXIT_CODE;
    return status & 0xff ? SIGNAL_EXIT_CODE + status : status >> 8;
}

RUN("user", "a program of the image: program=NAME args=A,B", init_user);
