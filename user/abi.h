/*
 * The interface of programs and the kernel. A system call is ECALL with its number in a7 and up to six arguments from
 * a0; a0 returns its result, or minus an error number of <errno.h>. All other registers are preserved.
 *
 * Numbers up to 199 are those of 4.3BSD (sys/kern/syscalls.master), with 4.4BSD's for calls that 4.3BSD lacks: paper
 * `mach` runs 4.3BSD's calls, and the C library of programs, picolibc, numbers signals as 4.3BSD does. Those from 200
 * on are our own. Structures and constants in arguments are the C library's (<fcntl.h>, <signal.h>, <sys/stat.h>,
 * <sys/time.h>, <sys/times.h>; off_t has 32 bits, time_t 64, bit n of a sigset_t is signal n); what it lacks is below.
 * A number that is named here and not implemented gives ENOSYS. What each call does, and its limits: proc/README.md.
 */
#ifndef USER_ABI_H
#define USER_ABI_H

/* Processes. */
#define SYS_EXIT 1         /* (status) */
#define SYS_FORK 2         /* () returns the child's id, in the child 0 */
#define SYS_WAIT4 7        /* (id, int *status, options, struct user_rusage *) */
#define SYS_GETPID 20      /* () */
#define SYS_GETUID 24      /* () always 0, as the next three */
#define SYS_GETEUID 25     /* () */
#define SYS_KILL 37        /* (id, signal) */
#define SYS_GETPPID 39     /* () */
#define SYS_GETEGID 43     /* () */
#define SYS_GETGID 47      /* () */
#define SYS_EXECVE 59      /* (path, argv, envp) */
#define SYS_VFORK 66       /* () the parent waits until the child has called execve, or has ended */
#define SYS_GETPGRP 81     /* () */
#define SYS_SETPGID 82     /* (id, group) */
#define SYS_GETRUSAGE 117  /* (who, struct user_rusage *) */
#define SYS_GETRLIMIT 144  /* (USER_RLIMIT_..., struct user_rlimit *) */
#define SYS_SETRLIMIT 145  /* (USER_RLIMIT_..., const struct user_rlimit *) */
#define SYS_KILLPG 146     /* (group, signal) */
#define SYS_SETSID 147     /* () */

/*
 * Signals. The last argument of sigaction is the handlers' return address: code that calls sigreturn with their sp.
 */
#define SYS_SIGACTION 46 /* (signal, const struct sigaction *, struct sigaction *old, trampoline) */
#define SYS_SIGPROCMASK 48 /* (how, const sigset_t *, sigset_t *old); of this thread */
#define SYS_SIGPENDING 52 /* (sigset_t *) */
#define SYS_SIGALTSTACK 53 /* (const stack_t *, stack_t *old); of this thread */
#define SYS_SIGRETURN 103 /* (struct user_sigframe *) */
#define SYS_SIGSUSPEND 111 /* (const sigset_t *) */

/* Memory. */
#define SYS_MSYNC 65 /* (address, size, flags) */
#define SYS_SBRK 69 /* (bytes, which may be negative) returns the old break; 4.3BSD also had brk at 17 */
#define SYS_MMAP 71 /* (address, size, protection, flags, fd, offset) */
#define SYS_MUNMAP 73 /* (address, size) */
#define SYS_MPROTECT 74 /* (address, size, protection) */
#define SYS_MINHERIT 75 /* (address, size, inheritance) */

/* Descriptors and files. */
#define SYS_READ 3 /* (fd, to, size) */
#define SYS_WRITE 4 /* (fd, from, size) */
#define SYS_OPEN 5 /* (path, flags, mode) */
#define SYS_CLOSE 6 /* (fd) */
#define SYS_LINK 9 /* (path, new) */
#define SYS_UNLINK 10 /* (path) */
#define SYS_CHDIR 12 /* (path) */
#define SYS_FCHDIR 13 /* (fd) */
#define SYS_MKNOD 14 /* (path, mode, device) */
#define SYS_CHMOD 15 /* (path, mode) */
#define SYS_CHOWN 16 /* (path, owner, group) */
#define SYS_LSEEK 19 /* (fd, offset, whence) */
#define SYS_MOUNT 21 /* (type, path, flags, device) */
#define SYS_UNMOUNT 22 /* (path, flags) */
#define SYS_ACCESS 33 /* (path, mode) */
#define SYS_SYNC 36 /* () */
#define SYS_STAT 38 /* (path, struct stat *) */
#define SYS_LSTAT 40 /* (path, struct stat *) */
#define SYS_DUP 41 /* (fd) */
#define SYS_PIPE 42 /* (int fd[2]) */
#define SYS_IOCTL 54 /* (fd, request, argument) */
#define SYS_SYMLINK 57 /* (text, path) */
#define SYS_READLINK 58 /* (path, to, size) */
#define SYS_UMASK 60 /* (mask) */
#define SYS_CHROOT 61 /* (path) */
#define SYS_FSTAT 62 /* (fd, struct stat *) */
#define SYS_GETDTABLESIZE 89 /* () */
#define SYS_DUP2 90 /* (fd, new) */
#define SYS_FCNTL 92 /* (fd, command, argument) */
#define SYS_SELECT 93 /* (n, fd_set *, fd_set *, fd_set *, struct timeval *) */
#define SYS_FSYNC 95 /* (fd) */
#define SYS_READV 120 /* (fd, const struct user_iovec *, count) */
#define SYS_WRITEV 121 /* (fd, const struct user_iovec *, count) */
#define SYS_FCHOWN 123 /* (fd, owner, group) */
#define SYS_FCHMOD 124 /* (fd, mode) */
#define SYS_RENAME 128 /* (path, new) */
#define SYS_TRUNCATE 129 /* (path, size) */
#define SYS_FTRUNCATE 130 /* (fd, size) */
#define SYS_FLOCK 131 /* (fd, LOCK_SH, LOCK_EX or LOCK_UN, with LOCK_NB or without) */
#define SYS_MKDIR 136 /* (path, mode) */
#define SYS_RMDIR 137 /* (path) */
#define SYS_UTIMES 138 /* (path, const struct timeval[2]) */
#define SYS_STATFS 157 /* (path, struct user_statfs *) */
#define SYS_FSTATFS 158 /* (fd, struct user_statfs *) */
#define SYS_PREAD 173 /* (fd, to, size, offset) */
#define SYS_PWRITE 174 /* (fd, from, size, offset) */
#define SYS_GETDIRENTRIES 196 /* (fd, struct user_dirent *, size) returns the bytes, 0 at the end */

/* Sockets. */
#define SYS_RECVMSG 27
#define SYS_SENDMSG 28
#define SYS_RECVFROM 29
#define SYS_ACCEPT 30
#define SYS_GETPEERNAME 31
#define SYS_GETSOCKNAME 32
#define SYS_SOCKET 97
#define SYS_CONNECT 98
#define SYS_BIND 104
#define SYS_SETSOCKOPT 105
#define SYS_LISTEN 106
#define SYS_GETSOCKOPT 118
#define SYS_SENDTO 133
#define SYS_SHUTDOWN 134
#define SYS_SOCKETPAIR 135

/* Time. The clock is the time since reset. */
#define SYS_SETITIMER 83 /* (which, const struct itimerval *, struct itimerval *old) */
#define SYS_GETITIMER 86 /* (which, struct itimerval *) */
#define SYS_GETTIMEOFDAY 116 /* (struct timeval *, 0) */

/* Our own: threads and time. */
#define SYS_SPAWN 200 /* (path, argv, envp or 0) fork and execve in one, without a copy; returns the child's id */
#define SYS_THREAD_SPAWN 201 /* (entry, argument, sp) a thread of this process; returns its id */
#define SYS_THREAD_EXIT 202 /* () ends this thread; with the last one the process, with status 0 */
#define SYS_GETTID 203 /* () a process's first thread has the process's id */
#define SYS_THREAD_KILL 204 /* (thread, signal) of this process */
#define SYS_SCHED_YIELD 205 /* () */
#define SYS_FUTEX_WAIT 206 /* (word, value, const struct timespec *limit or 0) */
#define SYS_FUTEX_WAKE 207 /* (word, most) returns how many it woke */
#define SYS_NANOSLEEP 208 /* (const struct timespec *, struct timespec *rest or 0) */
#define SYS_CLOCK_GETTIME 209 /* (clock, struct timespec *) */
#define SYS_TIMES 210 /* (struct tms *) in units of 1/USER_CLK_TCK s */
#define SYS_POLL 211 /* (struct user_pollfd *, count, milliseconds or -1) */
#define SYS_GETCWD 212 /* (to, size) returns the length */
#define SYS_PROCESSES 213 /* (struct user_process *, count) for ps: returns the number of processes */
#define SYS_WAITID 214 /* (P_ALL..., id, struct user_siginfo *, options, struct user_rusage * or 0) */
#define SYS_SIGTIMEDWAIT 215 /* (const sigset_t *, struct user_siginfo * or 0, limit or 0) returns the signal */
#define SYS_SIGQUEUE 216 /* (id, signal, value) */
#define SYS_GETPGID 217 /* (id) */
#define SYS_GETSID 218 /* (id) */
#define SYS_CLOCK_NANOSLEEP 219 /* (clock, flags: 1 until, const struct timespec *, struct timespec *rest or 0) */
/* 220 to 239: Mach's calls on memory (vm/), 240 to 254: on ports (ipc/). */
#define SYS_VM_FIRST 220
#define SYS_PORT_ALLOCATE 240 /* () a new port: returns its name, with the receive right */
#define SYS_PORT_DEALLOCATE 241 /* (name) all rights under it */
/* (struct user_message *, options, milliseconds, name to receive from) sends, receives, or both */
#define SYS_MESSAGE 242
#define SYS_TASK_SELF 243 /* () a name for a send right to this task */
#define SYS_BOOTSTRAP 244 /* () a name for a send right to the port that the task was given, 0: none */
#define SYS_SET_BOOTSTRAP 245 /* (name of a send right) which children on other nodes get */
#define SYS_NODE 246 /* () this node's number | their count << 16 */
#define SYS_PORT_SET_ALLOCATE 247 /* () a new port set: returns its name, to receive from any member */
#define SYS_PORT_MEMBER 248 /* (name of a receive right, name of a set or 0) puts the port in that set, and no other */
/* (name, USER_NOTIFY_*, name, how: a send-once right) a message of that number, with the name in it, once it occurs */
#define SYS_PORT_NOTIFY 249
#define SYS_PIPE2 256 /* (int fd[2], flags of open: O_CLOEXEC, O_NONBLOCK) */
#define SYS_DUP3 257 /* (fd, new, O_CLOEXEC or 0) */
#define SYS_MASKED 258 /* (const sigset_t *, number, const uint32_t[5]) SYS_POLL or SYS_SELECT under that mask */
#define SYS_GETCONTEXT 259 /* (struct user_context *) */
#define SYS_SETCONTEXT 260 /* (const struct user_context *) resumes it, with its address in a1 */
#define SYS_SWAPCONTEXT 261 /* (struct user_context *old, const struct user_context *) */
/*
 * As the calls without AT, for paths relative to a directory's descriptor, given before each, or to AT_FDCWD.
 */
#define SYS_OPENAT 262 /* (fd, path, flags, mode) */
#define SYS_FSTATAT 263 /* (fd, path, struct stat *, flags: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH) */
#define SYS_MKDIRAT 264 /* (fd, path, mode) */
#define SYS_MKNODAT 265 /* (fd, path, mode, device) */
#define SYS_UNLINKAT 266 /* (fd, path, flags: AT_REMOVEDIR) */
#define SYS_RENAMEAT 267 /* (fd, path, new fd, new) */
#define SYS_LINKAT 268 /* (fd, path, new fd, new, flags: AT_SYMLINK_FOLLOW) */
#define SYS_SYMLINKAT 269 /* (text, fd, path) */
#define SYS_READLINKAT 270 /* (fd, path, to, size) */
#define SYS_FACCESSAT 271 /* (fd, path, mode, flags: AT_EACCESS, AT_SYMLINK_NOFOLLOW) */
#define SYS_FCHMODAT 272 /* (fd, path, mode, flags: AT_SYMLINK_NOFOLLOW, EOPNOTSUPP of a symbolic link) */
#define SYS_FCHOWNAT 273 /* (fd, path, owner, group, flags: as fstatat) */
#define SYS_UTIMENSAT 274 /* (fd, path or 0: the file of fd, const struct timespec[2] or 0, flags: as fstatat) */
#define SYS_TIMER_CREATE 275 /* (clock, const struct user_sigevent * or 0: SIGALRM, with its id) returns its id */
#define SYS_TIMER_SETTIME 276 /* (id, 1: until, const struct user_itimerspec *, struct user_itimerspec *old or 0) */
#define SYS_TIMER_GETTIME 277 /* (id, struct user_itimerspec *) */
#define SYS_TIMER_GETOVERRUN 278 /* (id) */
#define SYS_TIMER_DELETE 279 /* (id) */
/* (thread) of this process: its calls with USER_CANCELS fail with ECANCELED from now on, also a waiting one */
#define SYS_THREAD_CANCEL 280
#define SYS_SYSTEM_INFO 281 /* (struct user_system_info *) */
#define SYS_MADVISE 282 /* (address, size, advice) */
#define SYS_CALLS 288
#define USER_CANCELS 0x10000 /* or-ed to a call's number */

/* Clocks, as Linux numbers them. */
#define USER_CLOCK_REALTIME 0
#define USER_CLOCK_MONOTONIC 1
#define USER_CLK_TCK 100

/*
 * A process starts with sp on argc, followed by argv's pointers and a 0, envp's pointers and a 0;
 * a0 = argc, a1 = argv, a2 = envp.
 */
#define USER_STACK_TOP 0x3ffff000
#define USER_STACK_SIZE 0x100000 /* at most */
#define USER_STACK_STEP 0x20000 /* the initial size, and the step in which it grows when used beyond it */
#define USER_ARGUMENTS_MOST 32768 /* bytes of the strings of argv and envp together, with their final 0s */
#define USER_NAME_SIZE 32 /* of a program, with the final 0 */
#define USER_PATH_SIZE 256 /* with the final 0 */

/* Signals, as 4.3BSD and <signal.h> number them. */
#define USER_SIGHUP 1
#define USER_SIGINT 2
#define USER_SIGQUIT 3
#define USER_SIGILL 4
#define USER_SIGTRAP 5
#define USER_SIGABRT 6
#define USER_SIGFPE 8
#define USER_SIGKILL 9
#define USER_SIGBUS 10
#define USER_SIGSEGV 11
#define USER_SIGSYS 12
#define USER_SIGPIPE 13
#define USER_SIGALRM 14
#define USER_SIGTERM 15
#define USER_SIGURG 16
#define USER_SIGSTOP 17
#define USER_SIGTSTP 18
#define USER_SIGCONT 19
#define USER_SIGCHLD 20
#define USER_SIGTTIN 21
#define USER_SIGTTOU 22
#define USER_SIGIO 23
#define USER_SIGXCPU 24
#define USER_SIGXFSZ 25
#define USER_SIGVTALRM 26
#define USER_SIGPROF 27
#define USER_SIGWINCH 28
#define USER_SIGUSR1 30
#define USER_SIGUSR2 31
#define USER_SIGNALS 32

#define USER_SIG_DFL 0
#define USER_SIG_IGN 1

/* Flags of sigaction: the first three as in newlib; <signal.h> of programs has the rest. */
#define USER_SA_NOCLDSTOP 0x1
#define USER_SA_SIGINFO 0x2
#define USER_SA_ONSTACK 0x4
#define USER_SA_RESTART 0x10000000
#define USER_SA_NOCLDWAIT 0x20000000
#define USER_SA_NODEFER 0x40000000
#define USER_SA_RESETHAND 0x80000000

/* Codes of struct user_siginfo, as Linux numbers them: the source of a signal, */
#define USER_SI_USER 0 /* kill */
#define USER_SI_KERNEL 0x80
#define USER_SI_QUEUE -1
#define USER_SI_TIMER -2
#define USER_SI_TKILL -6 /* thread_kill */
/* what a child did, */
#define USER_CLD_EXITED 1
#define USER_CLD_KILLED 2
#define USER_CLD_STOPPED 5
#define USER_CLD_CONTINUED 6
/* and of traps. */
#define USER_SEGV_MAPERR 1
#define USER_SEGV_ACCERR 2
#define USER_BUS_ADRALN 1
#define USER_BUS_ADRERR 2
#define USER_ILL_ILLOPC 1
#define USER_TRAP_BRKPT 1

#define USER_SIG_SETMASK 0
#define USER_SIG_BLOCK 1
#define USER_SIG_UNBLOCK 2
#define USER_SS_ONSTACK 1
#define USER_SS_DISABLE 2

/* wait4's options; a status as 4.3BSD's: code << 8 of one that exited, the signal of one that was ended by it,
 * signal << 8 | 0177 of one that has stopped, 0xffff of one that goes on. Those of waitid have the rest, as Linux. */
#define USER_WNOHANG 1
#define USER_WUNTRACED 2
#define USER_WEXITED 4
#define USER_WCONTINUED 8
#define USER_WNOWAIT 0x1000000
#define USER_WSTOPPED 0177
#define USER_W_GOES_ON 0xffff
#define USER_P_ALL 0
#define USER_P_PID 1
#define USER_P_PGID 2

/* mmap, mprotect, minherit: as 4.4BSD. */
#define USER_PROT_READ 1
#define USER_PROT_WRITE 2
#define USER_PROT_EXEC 4
#define USER_MAP_SHARED 0x1
#define USER_MAP_PRIVATE 0x2
#define USER_MAP_FIXED 0x10
#define USER_MAP_ANON 0x1000
#define USER_MS_ASYNC 1
#define USER_MS_INVALIDATE 2
#define USER_MS_SYNC 4
#define USER_MADV_DONTNEED 4 /* zero-filled again; all advice below is ignored */
#define USER_INHERIT_SHARE 0
#define USER_INHERIT_COPY 1
#define USER_INHERIT_NONE 2

#define USER_SIGEV_NONE 1
#define USER_SIGEV_SIGNAL 2

#define USER_ITIMER_REAL 0
#define USER_ITIMER_VIRTUAL 1
#define USER_ITIMER_PROF 2

/* Limits, as 4.4BSD numbers them; what each does: proc/README.md. */
#define USER_RLIMIT_CPU 0 /* seconds */
#define USER_RLIMIT_FSIZE 1
#define USER_RLIMIT_DATA 2
#define USER_RLIMIT_STACK 3
#define USER_RLIMIT_CORE 4
#define USER_RLIMIT_RSS 5
#define USER_RLIMIT_MEMLOCK 6
#define USER_RLIMIT_NPROC 7
#define USER_RLIMIT_NOFILE 8
#define USER_RLIMIT_AS 9
#define USER_RLIMITS 10
#define USER_RLIM_INFINITY 0x7fffffffffffffff

#define USER_RUSAGE_SELF 0
#define USER_RUSAGE_CHILDREN -1

#define USER_POLLIN 1
#define USER_POLLPRI 2
#define USER_POLLOUT 4
#define USER_POLLERR 8
#define USER_POLLHUP 16
#define USER_POLLNVAL 32

/* Sockets. Addresses and ports have the most significant byte first. */
#define USER_AF_UNSPEC 0
#define USER_AF_UNIX 1
#define USER_AF_INET 2
#define USER_SOCK_STREAM 1
#define USER_SOCK_DGRAM 2
#define USER_SOCK_RAW 3 /* of ICMP */
#define USER_SOCK_CLOEXEC 0x40000
#define USER_SOCK_NONBLOCK 0x4000
#define USER_SHUT_RD 0
#define USER_SHUT_WR 1
#define USER_SHUT_RDWR 2
#define USER_MSG_OOB 0x1
#define USER_MSG_PEEK 0x2
#define USER_MSG_WAITALL 0x40
#define USER_MSG_DONTWAIT 0x80
#define USER_MSG_NOSIGNAL 0x20000
#define USER_SOL_SOCKET 0xffff
#define USER_SO_ACCEPTCONN 0x2
#define USER_SO_REUSEADDR 0x4
#define USER_SO_KEEPALIVE 0x8
#define USER_SO_BROADCAST 0x20
#define USER_SO_LINGER 0x80 /* struct user_linger */
#define USER_SO_OOBINLINE 0x100
#define USER_SO_SNDBUF 0x1001
#define USER_SO_RCVBUF 0x1002
#define USER_SO_SNDLOWAT 0x1003
#define USER_SO_RCVLOWAT 0x1004
#define USER_SO_SNDTIMEO 0x1005 /* struct user_timeval */
#define USER_SO_RCVTIMEO 0x1006
#define USER_SO_ERROR 0x1007
#define USER_SO_TYPE 0x1008
#define USER_IP_TTL 2
#define USER_TCP_NODELAY 1
#define USER_TCP_MAXSEG 2
#define USER_TCP_KEEPIDLE 3 /* seconds */
#define USER_TCP_KEEPINTVL 5
#define USER_TCP_KEEPCNT 6

#define USER_MNT_RDONLY 1 /* of mount */

#define USER_AT_EMPTY_PATH 16 /* with an empty path the file of the descriptor itself; <fcntl.h> has the other flags */
#define USER_UTIME_NOW -2 /* for the nanoseconds of utimensat: now; */
#define USER_UTIME_OMIT -1 /* as it is */

/*
 * Messages (kernel/ipc/port.h). A message to `to`, by the given right, may carry a right for an answer, others, and
 * bytes in line and out of line. Received, `to` is the port that it came to, names are the receiver's, and out-of-line
 * data is in memory of its own: whole pages of one region are copied on write on one node, however many; else at most
 * 64 KB are copied.
 */
#define USER_RIGHT_COPY_SEND 1 /* how a right is made from that of the name: another send right, */
#define USER_RIGHT_MAKE_SEND 2 /* a send right from a receive right, */
#define USER_RIGHT_MOVE_SEND 3 /* the send right itself; */
#define USER_RIGHT_MAKE_SEND_ONCE 4
#define USER_RIGHT_MOVE_SEND_ONCE 5
#define USER_RIGHT_MOVE_RECEIVE 6 /* to another task of this node */
#define USER_MESSAGE_RIGHTS 8
#define USER_MESSAGE_BODY 512
#define USER_MESSAGE_SEND 1 /* options */
#define USER_MESSAGE_RECEIVE 2
#define USER_FOREVER 0xffffffff
/* Requests to a task's port; answers have 0x100 added, and begin with an error number, 0 for success. */
#define USER_TASK_CREATE 0x300 /* (node, steps) with memory inherited from this task: a right to it */
#define USER_THREAD_CREATE 0x301 /* (pc, sp, argument), running */
#define USER_TASK_TERMINATE 0x302 /* () */
/* (first node, count, steps, fan-out, pc, sp) a running child on each, with its node as argument */
#define USER_TASK_SPREAD 0x303
/* Its memory, as in Mach's calls of these names; addresses and sizes are rounded outwards to pages. */
#define USER_VM_READ 0x310 /* (address, bytes) they are the answer's data */
#define USER_VM_WRITE 0x311 /* (address) the message's data go there */
#define USER_VM_REGION 0x312 /* (address) the first region that ends above it: struct user_region */
#define USER_VM_ALLOCATE 0x313 /* (address, bytes, 1: anywhere) zero-filled: its address */
#define USER_VM_DEALLOCATE 0x314 /* (address, bytes) */
#define USER_VM_PROTECT 0x315 /* (address, bytes, 1: the most that they may become, rights as PROT_*) */
#define USER_VM_INHERIT 0x316 /* (address, bytes, 0: shared, 1: a copy, 2: nothing) by children */
#define USER_VM_COPY 0x317 /* (from, bytes, to) of whole pages */
#define USER_NOTIFY_DEAD_NAME 5 /* the port has no receiver any more; */
#define USER_NOTIFY_NO_SENDERS 6 /* no send right is left: of a receive right */
#define USER_MESSAGE_SEND_ONCE 1 /* the number of the message that an unused send-once right sends */

/* ioctl, as 4.3BSD and, where terminals have modes, 4.4BSD. */
#define USER_FIONREAD 0x4004667f /* (int *) */
#define USER_SIOCATMARK 0x40047307 /* (int *) of a socket: whether the urgent byte is next */
#define USER_SIOCNETSTATUS 0x400c6e00 /* (struct user_net_status *) of a socket */
#define USER_SIOCMBUFSTATUS 0x40406e01 /* (struct user_mbuf_status *) of a stream socket */
/* Of a socket: routes, numbered as in Linux. */
#define USER_SIOCADDRT 0x890b /* (const struct user_rtentry *) */
#define USER_SIOCDELRT 0x890c
#define USER_RTF_UP 0x1
#define USER_RTF_GATEWAY 0x2
#define USER_RTF_HOST 0x4 /* the mask does not count */
#define USER_RTF_DYNAMIC 0x10 /* a redirect made it, */
#define USER_RTF_MODIFIED 0x20 /* or changed it */
#define USER_RTF_REJECT 0x200 /* there is no way */
#define USER_SIOCROUTES 0x400c6e02 /* (struct user_list *) of struct user_route */
#define USER_SIOCSOCKETS 0x400c6e03 /* (struct user_list *) of struct user_socket */
#define USER_SIOCNETCOUNTS 0x400c6e04 /* (struct user_list *) of struct user_count */
/* Of a socket, about an interface (struct user_ifreq), numbered as in Linux. */
#define USER_SIOCGIFNAME 0x8910 /* the name of a number */
#define USER_SIOCGIFCONF 0x8912 /* (struct user_ifconf *) all with an address */
#define USER_SIOCGIFFLAGS 0x8913
#define USER_SIOCSIFFLAGS 0x8914 /* USER_IFF_UP alone */
#define USER_SIOCGIFADDR 0x8915
#define USER_SIOCSIFADDR 0x8916 /* the mask stays */
#define USER_SIOCGIFBRDADDR 0x8919
#define USER_SIOCGIFNETMASK 0x891b
#define USER_SIOCSIFNETMASK 0x891c
#define USER_SIOCGIFMTU 0x8921
#define USER_SIOCGIFHWADDR 0x8927
#define USER_SIOCGIFINDEX 0x8933
#define USER_IFF_UP 0x1
#define USER_IFF_BROADCAST 0x2
#define USER_IFF_LOOPBACK 0x8
#define USER_IFF_RUNNING 0x40
#define USER_TIOCGETA 0x402c7413 /* (struct user_termios *) */
#define USER_TIOCSETA 0x802c7414 /* (const struct user_termios *) at once, */
#define USER_TIOCSETAW 0x802c7415 /* when all output has been sent, */
#define USER_TIOCSETAF 0x802c7416 /* and input that has not been read is discarded */
#define USER_TIOCFLUSH 0x80047410 /* (const int *: 1 input; 2 output is not discarded here) */
#define USER_TIOCDRAIN 0x2000745e /* () */
#define USER_TIOCSTOP 0x2000746f /* () */
#define USER_TIOCSTART 0x2000746e /* () */
#define USER_TIOCOUTQ 0x40047473 /* (int *) */
#define USER_TIOCSCTTY 0x20007461 /* () */
#define USER_TIOCNOTTY 0x20007471 /* () */
#define USER_TIOCGSID 0x40047463 /* (int *) */
#define USER_TIOCGPGRP 0x40047477 /* (int *) */
#define USER_TIOCSPGRP 0x80047476 /* (const int *) */
#define USER_TIOCGWINSZ 0x40087468 /* (uint16_t[4]: rows, columns, 0, 0) */
#define USER_TIOCSWINSZ 0x80087467 /* (const uint16_t[4]) */

/* Of struct user_termios, as 4.4BSD: those with an effect, and three characters that have none. */
#define USER_VDSUSP 11
#define USER_VDISCARD 15
#define USER_VSTATUS 18
#define USER_VEOF 0
#define USER_VEOL 1
#define USER_VEOL2 2
#define USER_VERASE 3
#define USER_VWERASE 4
#define USER_VKILL 5
#define USER_VREPRINT 6
#define USER_VERASE2 7
#define USER_VINTR 8
#define USER_VQUIT 9
#define USER_VSUSP 10
#define USER_VSTART 12
#define USER_VSTOP 13
#define USER_VLNEXT 14
#define USER_VMIN 16
#define USER_VTIME 17
#define USER_NCCS 20
#define USER_VDISABLE 0xff
#define USER_ISTRIP 0x20
#define USER_INLCR 0x40
#define USER_IGNCR 0x80
#define USER_ICRNL 0x100
#define USER_IXON 0x200
#define USER_IXANY 0x800
#define USER_IMAXBEL 0x2000
#define USER_OPOST 0x1
#define USER_ONLCR 0x2
#define USER_CS8 0x300
#define USER_CREAD 0x800
#define USER_ECHOKE 0x1
#define USER_ECHOE 0x2
#define USER_ECHOK 0x4
#define USER_ECHO 0x8
#define USER_ECHONL 0x10
#define USER_ECHOCTL 0x40
#define USER_ISIG 0x80
#define USER_ICANON 0x100
#define USER_IEXTEN 0x400
#define USER_TOSTOP 0x400000
#define USER_NOFLSH 0x80000000

#ifndef __ASSEMBLER__
struct user_right {
    unsigned name, how; /* received: how is 1 for a send right, 5 for a send-once right */
};
struct user_region {
    unsigned begin, bytes, rights, maximum, inherit;
};
struct user_message {
    struct user_right to, reply;
    unsigned id, size; /* bytes of the body */
    unsigned rights;
    struct user_right right[USER_MESSAGE_RIGHTS];
    unsigned data, data_size; /* out of line: address, bytes */
    unsigned char body[USER_MESSAGE_BODY];
};

#include <stdint.h>

struct user_timespec {
    int64_t seconds;
    int32_t nanoseconds;
    int32_t zero;
};

struct user_timeval {
    int64_t seconds;
    int32_t microseconds;
    int32_t zero;
};

struct user_itimerval {
    struct user_timeval interval, value;
};

struct user_itimerspec {
    struct user_timespec interval, value;
};

struct user_sigevent {
    int32_t notify, signal;
    uint32_t value;
};

struct user_tms {
    uint32_t user, system, children_user, children_system;
};

/* 4.3BSD's; fields that are not counted are 0. */
struct user_rusage {
    struct user_timeval user, system;
    int32_t maxrss, ixrss, idrss, isrss, minflt, majflt, nswap, inblock, oublock, msgsnd, msgrcv, nsignals, nvcsw,
        nivcsw;
};

struct user_rlimit {
    uint64_t now, most;
};

struct user_sigaction {
    uint32_t handler, mask, flags;
};

struct user_stack {
    uint32_t sp;
    int32_t flags;
    uint32_t size;
};

/* <signal.h>'s siginfo_t. Fields that a code does not use are 0. */
struct user_siginfo {
    int32_t signo, code, error;
    int32_t sender; /* the sending process, or the child that it reports */
    uint32_t user;
    int32_t status; /* of the child: its exit status, or the signal */
    uint32_t address, value; /* of a trap; of sigqueue */
};

/*
 * The frame on the user's stack while a handler runs; a handler is called with a0 = signal, a1 = &info, a2 = the frame,
 * and returns to the trampoline with sp on the frame. sigreturn restores the registers and the mask from it, and
 * nothing else. s1 to s11 are as the handler leaves them: C preserves them.
 */
struct user_sigframe {
    uint32_t pc, ra, sp, gp, tp, t[7], a[8], s0;
    uint32_t mask;
    struct user_siginfo info;
};

/*
 * What getcontext writes and setcontext reads: `mask` and of `x`, the registers by their numbers, ra, sp, gp and tp,
 * with the pc for x[0]. The others are up to the code at pc, which gets the structure in a1 (user/lib/context.c).
 */
struct user_context {
    uint32_t flags, link, mask, stack[3];
    uint32_t x[32];
};

struct user_iovec {
    uint32_t base, size;
};

struct user_pollfd {
    int32_t fd;
    int16_t events, revents;
};

/* 4.4BSD's struct dirent, with FreeBSD's offset. */
struct user_dirent {
    uint32_t fileno;
    uint32_t offset; /* of the next entry, for lseek */
    uint16_t reclen;
    uint8_t type, namlen;
    char name[]; /* namlen characters and a 0; reclen is a multiple of 4 */
};

/* Of <sys/stat.h>. */
struct user_stat {
    int16_t dev;
    uint16_t ino;
    uint32_t mode;
    uint16_t nlink, uid, gid;
    int16_t rdev;
    int32_t size;
    struct user_timespec atime, mtime, ctime;
    int32_t blksize, blocks;
    uint32_t spare[2];
};

/* Of <fcntl.h>: struct flock. */
struct user_flock {
    int16_t type, whence;
    int32_t start, length, process;
};

/*
 * The network's resources in use: packets' buffers, with those of the interface, and connections; its address, as in
 * struct sockaddr_in.
 */
struct user_net_status {
    uint32_t mbufs, connections, address;
};

/*
 * The two pools that packets come from: of mbufs, and of the clusters that have the data of longer ones and that the
 * interface receives into. Objects of `bytes` each in use, the most so far, free ones, failed allocations, waits for
 * one, pages that hold them, and the limit.
 */
struct user_mbuf_pool {
    uint32_t in_use, peak, free, denied, waits, pages, most, bytes;
};
struct user_mbuf_status {
    struct user_mbuf_pool mbufs, clusters;
};

/* Of <netinet/in.h>: struct sockaddr_in. */
struct user_sockaddr_in {
    uint16_t family, port;
    uint32_t address;
    uint8_t zero[8];
};

/* Room for `most` entries at `to`; then `count` says how many there are. */
struct user_list {
    uint32_t to, most, count;
};

/* Addresses as in struct sockaddr_in. */
struct user_route {
    uint32_t to, mask, gateway; /* gateway 0: the destination is on this network */
    uint32_t flags, uses;
};

struct user_socket {
    uint32_t type; /* USER_SOCK_ */
    uint32_t state; /* of a stream: from 0 on CLOSED, LISTEN, SYN_SENT, SYN_RECEIVED, ESTABLISHED, ..., as in 4.4BSD */
    uint32_t address, peer;
    uint16_t port, peer_port; /* as in struct sockaddr_in */
    uint32_t received, sent; /* bytes that wait to be read (of datagrams: of memory), and to be acknowledged */
};

struct user_count {
    char name[20];
    uint32_t value;
};

/* Of <net/route.h>: struct rtentry. */
struct user_rtentry {
    uint32_t pad1;
    struct user_sockaddr_in to, gateway, mask;
    uint16_t flags, pad2;
    uint32_t pad3[2];
    uint16_t metric, pad4;
    uint32_t device, mtu, window;
    uint16_t rtt, pad5;
};

/* Of <net/if.h>: struct ifreq, struct ifconf. */
struct user_ifreq {
    char name[16];
    union {
        struct user_sockaddr_in address;
        int16_t flags;
        int32_t number;
        struct {
            uint16_t family; /* as ARP numbers them: 1 is Ethernet, 772 the loop-back */
            uint8_t address[14];
        } hardware;
    } of;
};

struct user_ifconf {
    int32_t length; /* bytes of room, and then of what is there; */
    uint32_t to; /* 0: only the latter is wanted */
};

/* Of <sys/socket.h>: struct linger. */
struct user_linger {
    int32_t on, seconds;
};

struct user_system_info {
    uint32_t harts, pages, free_pages;
};

struct user_statfs {
    uint32_t block_size, blocks, blocks_free, files, files_free;
};

struct user_termios {
    uint32_t iflag, oflag, cflag, lflag;
    uint8_t cc[USER_NCCS];
    uint32_t ispeed, ospeed;
};

struct user_process {
    int32_t id, parent, group, session;
    uint32_t threads, pages;
    uint32_t milliseconds; /* user and system time */
    char state; /* R, S, T, Z */
    char name[USER_NAME_SIZE - 1];
};
#endif
#endif
