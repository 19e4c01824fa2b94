/* The programs in the image: a cpio archive of the format "newc", made by user/archive.py. */
#ifndef USER_ARCHIVE_H
#define USER_ARCHIVE_H

#include <stdint.h>

/* The file with that name and its size, or 0. */
const void *archive_find(const char *name, uint32_t *size);

/* The same by a path, with / and bin/ optional. */
const void *archive_lookup(const char *path, uint32_t *size);

/* The number of the file in the archive. */
unsigned archive_number(const void *file);

/* The name of the file at *at, which is 0 for the first one and advances to the next; 0 after the last. */
const char *archive_next(uint32_t *at);
#endif
