/*
 * Names that were looked up lately, of all directories: from directory and name to the number that the directory says.
 * A file system asks it with the directory locked, and tells it of each change, so it is never wrong. Names longer than
 * NAMECACHE_NAME are not kept.
 *
 * Locking: a simple lock for each hash chain, for the moment of a look.
 */
#ifndef FS_NAMECACHE_H
#define FS_NAMECACHE_H

#include <stdbool.h>
#include <stdint.h>

#define NAMECACHE_NAME 27

struct namecache_counts {
    uint32_t hits, misses, entered, dropped; /* modulo 2^32 */
};
extern struct namecache_counts namecache_counts;

bool namecache_find(const void *fs, uint32_t directory, const char *name, uint32_t length, uint32_t *number);
void namecache_enter(const void *fs, uint32_t directory, const char *name, uint32_t length, uint32_t number);
void namecache_drop(const void *fs, uint32_t directory, const char *name, uint32_t length);
void namecache_purge(const void *fs); /* all of a file system that goes */
void namecache_init(void);
#endif
