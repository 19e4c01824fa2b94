/*
 * swapped PAGES ROUNDS: PAGES pages, all of them written, beside files that are written and read: more than main RAM
 * has, so that most of them are at the default pager. A child shares half of them and continues writing.
 *
 *   swapped: PAGES pages, ROUNDS rounds, N wrong
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define WORDS (PAGE / 4)
#define PIECE 6000

static uint32_t pages, wrong;
static volatile uint32_t *memory;
static char piece[PIECE];

static uint32_t value(uint32_t page, uint32_t round, uint32_t at)
{
    return (page * 2654435761u) ^ (round << 16) ^ at;
}

static void write_all(uint32_t first, uint32_t end, uint32_t round)
{
    for (uint32_t p = first; p < end; p++)
        for (uint32_t at = 0; at < WORDS; at += 255)
            memory[p * WORDS + at] = value(p, round, at);
}

static void check_all(uint32_t first, uint32_t end, uint32_t round)
{
    for (uint32_t p = first; p < end; p++)
        for (uint32_t at = 0; at < WORDS; at += 255)
            wrong += memory[p * WORDS + at] != value(p, round, at);
}

/* From and to pages of which some are at the pager: the file system gets them as arguments. */
static void use_file(const char *name, uint32_t seed)
{
    for (uint32_t i = 0; i < PIECE; i++)
        piece[i] = (char)(seed + i * 7);
    int fd = open(name, O_CREAT | O_TRUNC | O_RDWR, 0644);
    char *in_memory = (char *)memory + (seed * 37 % (pages - 3)) * PAGE + 100;
    static char kept[PIECE];
    memcpy(kept, in_memory, PIECE);
    if (fd < 0 || write(fd, piece, PIECE) != PIECE || write(fd, in_memory, PIECE) != PIECE || lseek(fd, 0, SEEK_SET) ||
        read(fd, in_memory, PIECE) != PIECE || memcmp(in_memory, piece, PIECE) || read(fd, in_memory, PIECE) != PIECE ||
        memcmp(in_memory, kept, PIECE) || close(fd))
        wrong++;
}

int main(int argc, char **argv)
{
    pages = (uint32_t)atoi(argv[1]);
    uint32_t rounds = (uint32_t)atoi(argv[2]);
    if (argc != 3 || !(memory = malloc(pages * PAGE)))
        return 2;
    /* The swap file must not be changed, whatever its name. */
    int fd = open("/swap", O_RDWR);
    if (fd >= 0 && (write(fd, "x", 1) != -1 || errno != ETXTBSY || ftruncate(fd, 0) != -1 || errno != ETXTBSY))
        wrong++;
    for (uint32_t round = 1; round <= rounds; round++) {
        write_all(0, pages, round);
        use_file("one", round);
        int status = 0, child = fork();
        if (!child) {
            write_all(0, pages / 4, round + 1000);
            use_file("two", round);
            check_all(0, pages / 4, round + 1000);
            check_all(pages / 4, pages / 2, round);
            _exit(wrong != 0);
        }
        check_all(0, pages, round);
        if (child < 0 || waitpid(child, &status, 0) != child)
            status = 1;
        wrong += status != 0;
        use_file("one", round + 1);
    }
    printf("swapped: %u pages, %u rounds, %u wrong\n", (unsigned)pages, (unsigned)rounds, (unsigned)wrong);
    return wrong != 0;
}
