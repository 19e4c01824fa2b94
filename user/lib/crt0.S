/* Where a program starts: a0 = argc, a1 = argv, a2 = envp. tp is the start of the thread-local variables. */
    .section .text.start, "ax"
    .globl _start
_start:
    la tp, _first_thread_local
    li s0, 0
    tail program_start
