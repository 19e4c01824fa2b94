# How programs of user mode are compiled and linked: for the image's own (programs.mk) and for all others (library.mk).
# Needs CC and PICOLIBC.

USERLAND := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

USER_ARCH := -march=rv32ima_zicsr -mabi=ilp32 -mcmodel=medany -mno-relax
USER_CFLAGS := -O2 $(USER_ARCH) -ffunction-sections -fdata-sections
# What picolibc's headers declare only for a system that says it has it: <time.h>'s clocks, POSIX's, which are there.
USER_DEFINES := -D_POSIX_TIMERS=1 -D_POSIX_MONOTONIC_CLOCK=1 -D_POSIX_CLOCK_SELECTION=1
USER_OWN_CFLAGS := -std=gnu11 -Wall -Wextra -Werror -ffile-prefix-map=$(USERLAND)=user -iquote $(USERLAND)/.. \
    -isystem $(USERLAND)/lib/include
USER_LD_OPTIONS := --gc-sections --no-relax --build-id=none -zmax-page-size=4096 \
    $(foreach name,strtod strtof strtold,--wrap=$(name)) # user/lib/strtod.c
# Debian has no libraries for rv32ima: those for rv32im do. Those that it takes for rv32ima multiply by software.
USER_LIBC := $(PICOLIBC)/lib/rv32im/ilp32
USER_LIBGCC := $(shell $(CC) -march=rv32im -mabi=ilp32 -print-libgcc-file-name)
USER_LIB_SOURCES := $(sort $(wildcard $(USERLAND)/lib/*.c))
USER_LIB_HEADERS := $(USERLAND)/abi.h $(wildcard $(addprefix $(USERLAND)/,lib/*.h lib/include/*.h lib/include/*/*.h))
