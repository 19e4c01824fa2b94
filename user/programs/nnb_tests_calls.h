/* File access of a program, for nnb_tests.h: POSIX's calls. */
#ifndef BENCH_NNB_TESTS_CALLS_H
#define BENCH_NNB_TESTS_CALLS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _Noreturn void nnb_failed(const char *what)
{
    perror(what);
    exit(1);
}

static int nnb_open(void *user, const char *path, bool create)
{
    (void)user;
    int fd = open(path, create ? O_CREAT | O_TRUNC | O_RDWR : O_RDWR, 0644);
    if (fd < 0)
        nnb_failed(path);
    return fd;
}

static void nnb_close(void *user, int fd)
{
    (void)user;
    if (close(fd))
        nnb_failed("close");
}

static void nnb_seek(void *user, int fd, uint32_t offset)
{
    (void)user;
    if (lseek(fd, (off_t)offset, SEEK_SET) < 0)
        nnb_failed("lseek");
}

static void nnb_read(void *user, int fd, void *to, uint32_t n)
{
    (void)user;
    if (read(fd, to, n) != (ssize_t)n)
        nnb_failed("read");
}

static void nnb_write(void *user, int fd, const void *from, uint32_t n)
{
    (void)user;
    if (write(fd, from, n) != (ssize_t)n)
        nnb_failed("write");
}

static void nnb_unlink(void *user, const char *path)
{
    (void)user;
    if (unlink(path))
        nnb_failed("unlink");
}

#include "user/programs/nnb_tests.h"
#endif
