/* The archive of programs (archive.h). It is part of the image, so it is trusted to be valid. */
#include "proc/archive.h"

#include <stdbool.h>
#include <string.h>

#define MAGIC "070701"
#define LAST "TRAILER!!!"
#define HEADER_SIZE 110u
#define FIELD_MODE 14u /* offsets in the header of eight hexadecimal digits: the file's mode, */
#define FIELD_SIZE 54u /* its size, */
#define TYPE 0170000u /* of a file, in its mode */
#define LINK 0120000u
#define FIELD_NAME_SIZE 94u /* and the size of the name, with its final 0 */

extern const char user_archive[];

struct entry {
    const char *name;
    const char *file;
    uint32_t size;
    bool link; /* the file is the one with another name, which is here */
};

static uint32_t hexadecimal(const char *digits)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < 8; i++)
        v = v << 4 | (uint32_t)(digits[i] <= '9' ? digits[i] - '0' : (digits[i] | 0x20) - 'a' + 10);
    return v;
}

static uint32_t archive_rounded(uint32_t n)
{
    return (n + 3) & ~3u;
}

/* The entry at offset *at, which advances to the next; false after the last. */
static bool next_entry(uint32_t *at, struct entry *e)
{
    const char *header = user_archive + *at;
    if (memcmp(header, MAGIC, sizeof MAGIC - 1))
        return false;
    uint32_t file_at = archive_rounded(*at + HEADER_SIZE + hexadecimal(header + FIELD_NAME_SIZE));
    *e = (struct entry){header + HEADER_SIZE, user_archive + file_at, hexadecimal(header + FIELD_SIZE),
                        (hexadecimal(header + FIELD_MODE) & TYPE) == LINK};
    *at = archive_rounded(file_at + e->size);
    return strcmp(e->name, LAST);
}

const void *archive_find(const char *name, uint32_t *size)
{
    struct entry e;
    for (uint32_t at = 0; next_entry(&at, &e);) {
        if (strcmp(e.name, name))
            continue;
        if (!e.link) {
            *size = e.size;
            return e.file;
        }
        name = e.file;
        at = 0;
    }
    return 0;
}

const char *archive_next(uint32_t *at)
{
    struct entry e;
    return next_entry(at, &e) ? e.name : 0;
}

/* A name may have its folder, /bin, in front. */
const void *archive_lookup(const char *path, uint32_t *size)
{
    while (*path == '/' || (path[0] == '.' && path[1] == '/'))
        path++;
    const void *file = archive_find(path, size);
    return file || strncmp(path, "bin/", 4) ? file : archive_find(path + 4, size);
}

unsigned archive_number(const void *file)
{
    struct entry e;
    unsigned n = 0;
    for (uint32_t at = 0; next_entry(&at, &e) && e.file != file;)
        n++;
    return n;
}
