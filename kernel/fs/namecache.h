/*
 * Recently looked up names of all directories: maps directory and name to the inode number in the entry. A file system
 * queries it with the directory locked, and updates it at each change, so it is never wrong. Names longer than
 * NAMECACHE_NAME are not kept.
 *
 * Locking: a simple lock for each hash chain, held during a search.
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
void namecache_purge(const void *fs); /* all of a file system that is unmounted */
void namecache_init(void);
#endif
