/*
 * Included before each source of musl (library.mk): what musl's internal headers would define, in terms of our
 * library. Headers of musl that are here have musl's names, and those beside its sources are not read: their guards
 * are defined.
 */
#ifndef USER_MUSL_H
#define USER_MUSL_H

#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "user/lib/futex_lock.h"

#define weak __attribute__((__weak__))
#define hidden __attribute__((__visibility__("hidden")))
#define weak_alias(old, new) extern __typeof(old) new __attribute__((__weak__, __alias__(#old)))

#define __BYTE_ORDER _BYTE_ORDER
#define __BIG_ENDIAN _BIG_ENDIAN

/* syscall.h. Where musl uses the error number, it only tests whether there is one. */
#define _INTERNAL_SYSCALL_H
/* A thread ends within none of them: it holds the stream's lock. */
#define call_SYS_close(fd) with_errno(system_call(SYS_CLOSE, (uint32_t)(fd), 0, 0))
#define call_SYS_fcntl fcntl
#define call_SYS_ioctl ioctl
#define call_SYS_read(fd, to, size) with_errno(system_call(SYS_READ, (uint32_t)(fd), (uint32_t)(to), (uint32_t)(size)))
#define call_SYS_readv(fd, v, n) with_errno(system_call(SYS_READV, (uint32_t)(fd), (uint32_t)(v), (uint32_t)(n)))
#define call_SYS_writev(fd, v, n) with_errno(system_call(SYS_WRITEV, (uint32_t)(fd), (uint32_t)(v), (uint32_t)(n)))
#define syscall(number, ...) call_##number(__VA_ARGS__)
#define __syscall(number, ...) call_##number(__VA_ARGS__)
#define sys_open open
#define __lseek lseek
#define itoa musl_itoa /* getnameinfo's: picolibc has another */
#define __dup3 dup3

/* libc.h, lock.h, fork_impl.h, aio_impl.h. Threads may begin at any time: streams are always locked. */
#define LIBC_H
static const struct {
    int threaded;
} libc __attribute__((unused)) = {1};
#define LOCK_H
#define LOCK(word) futex_lock((volatile uint32_t *)(word))
#define UNLOCK(word) futex_unlock((volatile uint32_t *)(word))

/* pthread_impl.h: a thread, whose number has 30 bits, and waiting for it. */
#define _PTHREAD_IMPL_H
struct musl_thread {
    int tid;
};
#define __pthread_self() (&(struct musl_thread){(int)((uint32_t)__builtin_thread_pointer() >> 2)})
static inline int a_cas(volatile int *p, int expected, int value)
{
    __atomic_compare_exchange_n(p, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
#define a_swap(p, value) __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST)
#define __futexwait(p, value, private) futex_wait((volatile uint32_t *)(p), (uint32_t)(value), 0)
#define __wake(p, most, private) futex_wake((volatile uint32_t *)(p), most)

/* locale_impl.h: one locale, C. */
#define _LOCALE_IMPL_H
#define C_LOCALE ((locale_t)0)
#define CURRENT_LOCALE ((locale_t)0)
#define CURRENT_UTF8 0
#define LCTRANS(text, category, locale) (text)
#define LCTRANS_CUR(text) (text)
#define CHARCLASS_NAME_MAX 14

/* The only time zone is UTC. */
#define __tm_gmtoff tm_isdst * 0
#define __nl_langinfo_l(item, locale) nl_langinfo(item)
const char *__strftime_fmt_1(char (*)[100], size_t *, int, const struct tm *, locale_t, int);
size_t __strftime_l(char *__restrict, size_t, const char *__restrict, const struct tm *__restrict, locale_t);
#endif
