/* The programs in the image: a cpio archive of the format "newc", made by user/archive.py. */
#ifndef USER_ARCHIVE_H
#define USER_ARCHIVE_H

#include <stdint.h>

/* The file of that name and its size, or 0. */
const void *archive_find(const char *name, uint32_t *size);

/* The name of the n-th file, or 0. */
const char *archive_name(unsigned n);
#endif
