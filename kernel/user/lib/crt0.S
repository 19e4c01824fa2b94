/* Where a program starts: a0 = argc, a1 = argv. The C library's errno is thread-local, at tp. */
    .section .text.start, "ax"
    .globl _start
_start:
    la tp, first_thread_local
    li s0, 0
    call main
    call exit

    .bss
    .balign 16
first_thread_local:
    .space 16
