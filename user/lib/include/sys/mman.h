/* Memory maps, numbered as the kernel has them (user/abi.h). */
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
#endif
