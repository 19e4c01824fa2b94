/* Sizes shared by boot code, linker and loaders. */
#ifndef ARCH_BOOT_H
#define ARCH_BOOT_H

#define BOOTARGS_SIZE 1024 /* bytes, with the final 0 */
#endif
