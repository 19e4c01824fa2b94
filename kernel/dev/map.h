/* Where the devices are: the hart's own window (0xe0000000) and the shared bus (soc/README.md). */
#ifndef DEV_MAP_H
#define DEV_MAP_H

#define PIC_WINDOW 0xe0000000u
#define TRACE_WINDOW 0xe1000000u
#define CLINT_BASE 0xf0010000u
#define UART0_WINDOW 0xf0020000u
#define UART1_WINDOW 0xf0021000u
#define PIC_COUNTERS_WINDOW 0xf0030000u
#endif
