/*
 * power PROCESSES OPERATIONS SEED: processes make, write, append to, cut, rename, link, unlink and fsync files of their
 * own folders, and print for each operation the cycles in which it began and ended. tests/kernel/power_cuts.py derives
 * what a power cut in between must leave. A file consists of words that name it; its name ends in its number. Half
 * of the writes are stores to pages that the file is mapped to; a mapping stays during other operations on its
 * file, and msync acknowledges what fsync does.
 *
 *   op BEGIN END KIND FILE ...      write FIRST COUNT VERSION, cut WORDS, name PATH, unlink, sync, each with the file's
 *                                   number
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES 6
#define WORDS 1024
#define LOG_BYTES 60000

struct word {
    uint16_t file, version;
    uint32_t place;
};

struct file {
    unsigned number; /* 0: none */
    unsigned version, size;
    char name[48];
};

static struct file files[FILES];
static struct word data[WORDS];
static uint32_t state;
static unsigned process, made;
static char text[LOG_BYTES];
static unsigned used;

static struct { /* the current mapping, of a file that may have been removed since */
    const struct file *of; /* 0: no file */
    void *at;
    size_t bytes;
} mapping;

static uint32_t below(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
}

static uint64_t cycles(void)
{
    uint32_t high, low, again;
    do {
        __asm__ volatile("rdcycleh %0; rdcycle %1; rdcycleh %2" : "=r"(high), "=r"(low), "=r"(again));
    } while (high != again);
    return (uint64_t)high << 32 | low;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

#define SAY(begin, ...)                                                                                         \
    do {                                                                                                        \
        used += (unsigned)sprintf(text + used, "op %lu %lu ", (unsigned long)(begin), (unsigned long)cycles()); \
        used += (unsigned)sprintf(text + used, __VA_ARGS__);                                                    \
    } while (0)

static void new_name(const struct file *f, char *name)
{
    sprintf(name, "/p%u/%s%c%.*s_%u", process, below(2) ? "d/" : "", 'a' + (char)below(26), (int)below(16),
            "long-long-long-long", f->number);
}

static void map(const struct file *f, int fd, size_t bytes)
{
    if (mapping.at && munmap(mapping.at, mapping.bytes))
        fail("munmap");
    mapping.of = f;
    mapping.bytes = bytes;
    mapping.at = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapping.at == MAP_FAILED)
        fail("mmap");
}

/* The file is made long enough first, by a hole; a mapping that reaches that far is reused. */
static void store_words(const struct file *f, int fd, unsigned at, unsigned n)
{
    size_t end = (at + n) * sizeof *data;
    if (at + n > f->size && ftruncate(fd, (off_t)end))
        fail("ftruncate");
    if (mapping.of != f || mapping.bytes < end || !below(3))
        map(f, fd, end);
    memcpy((struct word *)mapping.at + at, data, n * sizeof *data);
}

static void write_words(struct file *f)
{
    unsigned at = below(3) ? f->size : below(f->size + 1), n = 1 + below(WORDS - 1);
    for (unsigned i = 0; i < n; i++)
        data[i] = (struct word){(uint16_t)f->number, (uint16_t)(f->version + 1), at + i};
    uint64_t begin = cycles();
    int fd = open(f->name, O_CREAT | O_RDWR, 0644);
    if (fd < 0)
        fail(f->name);
    if (below(2))
        store_words(f, fd, at, n);
    else if (pwrite(fd, data, n * sizeof *data, (off_t)(at * sizeof *data)) != (ssize_t)(n * sizeof *data))
        fail("write");
    close(fd);
    f->version++;
    SAY(begin, "write %u %u %u %u\n", f->number, at, n, f->version);
    f->size = at + n > f->size ? at + n : f->size;
}

static void cut(struct file *f)
{
    unsigned to = below(f->size + 1);
    uint64_t begin = cycles();
    if (truncate(f->name, (off_t)(to * sizeof *data)))
        fail("truncate");
    SAY(begin, "cut %u %u\n", f->number, to);
    f->size = to;
}

static void sync_file(const struct file *f)
{
    int fd = open(f->name, O_RDONLY);
    bool by_map = mapping.of == f && below(2);
    uint64_t begin = cycles();
    if (fd < 0 || (by_map ? msync(mapping.at, mapping.bytes, MS_SYNC) : fsync(fd)))
        fail(by_map ? "msync" : "fsync");
    SAY(begin, "sync %u\n", f->number);
    close(fd);
}

static void rename_file(struct file *f)
{
    char name[48];
    new_name(f, name);
    uint64_t begin = cycles();
    if (!strcmp(name, f->name))
        return;
    int error = below(3) ? rename(f->name, name) : link(f->name, name) || unlink(f->name);
    if (error)
        fail("rename");
    strcpy(f->name, name);
    SAY(begin, "name %u %s\n", f->number, name);
}

static void unlink_file(struct file *f)
{
    uint64_t begin = cycles();
    if (unlink(f->name))
        fail("unlink");
    SAY(begin, "unlink %u\n", f->number);
    f->number = 0;
    if (mapping.of == f)
        mapping.of = 0; /* it stays, with a file that has no name any more */
}

static void one_thing(void)
{
    struct file *f = &files[below(FILES)];
    if (!f->number) {
        uint64_t begin = cycles();
        *f = (struct file){.number = 1000 * (process + 1) + ++made};
        new_name(f, f->name);
        SAY(begin, "name %u %s\n", f->number, f->name);
        write_words(f);
        return;
    }
    switch (below(10)) {
    case 0: cut(f); break;
    case 1:
    case 2:
    case 3: sync_file(f); break;
    case 4:
    case 5: rename_file(f); break;
    case 6: unlink_file(f); break;
    default: write_words(f);
    }
}

int main(int count, char **words)
{
    unsigned processes = count == 4 ? (unsigned)atoi(words[1]) : 0;
    if (!processes)
        return fprintf(stderr, "power PROCESSES OPERATIONS SEED\n"), 2;
    for (process = 0; process < processes; process++) {
        char folder[16];
        sprintf(folder, "/p%u", process);
        mkdir(folder, 0755);
        strcat(folder, "/d");
        mkdir(folder, 0755);
    }
    sync();
    int turn[2]; /* a pipe with one byte in it, for the process that prints next: a terminal mixes long writes */
    if (pipe(turn) || write(turn[1], "", 1) != 1)
        return fprintf(stderr, "power: no pipe\n"), 2;
    printf("begin %lu\n", (unsigned long)cycles());
    fflush(stdout);
    for (process = 0; process < processes; process++)
        if (!fork()) {
            state = (uint32_t)atoi(words[3]) * 7919 + process;
            for (int n = atoi(words[2]); n && used < LOG_BYTES - 200; n--)
                one_thing();
            char byte;
            if (read(turn[0], &byte, 1) != 1 || write(1, text, used) != (ssize_t)used || write(turn[1], &byte, 1) != 1)
                _exit(1);
            _exit(0);
        }
    int failed = 0, status;
    while (wait(&status) > 0)
        failed += status != 0;
    printf("end %lu, %d failed\n", (unsigned long)cycles(), failed);
    return failed;
}
