/* Memory maps, numbered as in the kernel (user/abi.h). */
#ifndef _SYS_MMAN_H
#define _SYS_MMAN_H

#include <sys/types.h>

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
#define MAP_SHARED 0x1
#define MAP_PRIVATE 0x2
#define MAP_FIXED 0x10
#define MAP_ANON 0x1000
#define MAP_ANONYMOUS MAP_ANON
#define MS_ASYNC 1
#define MS_INVALIDATE 2
#define MS_SYNC 4
#define MAP_FAILED ((void *)-1)

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int munmap(void *address, size_t size);
int msync(void *address, size_t size, int flags);
int mprotect(void *address, size_t size, int protection);

/*
 * Advice is ignored, except MADV_DONTNEED: private memory is zero-filled again. EINVAL for private mappings of
 * files.
 */
#define MADV_NORMAL 0
#define MADV_RANDOM 1
#define MADV_SEQUENTIAL 2
#define MADV_WILLNEED 3
#define MADV_DONTNEED 4
#define POSIX_MADV_NORMAL MADV_NORMAL
#define POSIX_MADV_RANDOM MADV_RANDOM
#define POSIX_MADV_SEQUENTIAL MADV_SEQUENTIAL
#define POSIX_MADV_WILLNEED MADV_WILLNEED
#define POSIX_MADV_DONTNEED MADV_DONTNEED

int madvise(void *address, size_t size, int advice);
int posix_madvise(void *address, size_t size, int advice);
#endif
