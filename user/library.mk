# The library of user mode's programs and a compiler that knows it, for programs that are not the image's own:
#   make -C user -f library.mk OUT=<folder>
# puts there `cc` (a script that compiles and links as $(CROSS)gcc does), crt0.o, libuser.a, user.ld and headers. The folder
# may be moved. Called by sim/images/programs.py.

comma := ,
OUT ?= ../build/user-library
CROSS ?= riscv64-unknown-elf-
CC := $(CROSS)gcc
OBJCACHE ?=
PICOLIBC ?= /usr/lib/picolibc/riscv64-unknown-elf

include flags.mk

OBJECTS := $(patsubst $(USERLAND)/lib/%.c,$(OUT)/objects/%.o,$(USER_LIB_SOURCES))

.PHONY: all
all: $(OUT)/libuser.a $(OUT)/crt0.o $(OUT)/user.ld $(OUT)/include $(OUT)/cc

$(OUT)/objects/%.o: $(USERLAND)/lib/%.c $(USER_LIB_HEADERS)
	@mkdir -p $(@D)
	@$(OBJCACHE) $(CC) $(USER_CFLAGS) $(USER_DEFINES) $(USER_OWN_CFLAGS) -isystem $(PICOLIBC)/include -c $< -o $@

$(OUT)/libuser.a: $(OBJECTS)
	@$(CROSS)ar crs $@ $^

$(OUT)/crt0.o: lib/crt0.S
	@mkdir -p $(@D)
	@$(CC) $(USER_CFLAGS) -c $< -o $@

$(OUT)/user.ld: lib/user.ld
	@mkdir -p $(@D)
	@cp $< $@

$(OUT)/include: $(USER_LIB_HEADERS)
	@mkdir -p $@/user/lib
	@cp -r lib/include/. $@
	@cp abi.h $@/user
	@cp $(wildcard lib/*.h) $@/user/lib

define SCRIPT
#!/bin/sh
# Compiles and links programs for user mode.
here=$$(cd "$$(dirname "$$0")" && pwd)
for word; do
    case $$word in -c | -S | -E | -M | -MM)
        exec $(CC) $(USER_CFLAGS) $(USER_DEFINES) -isystem "$$here/include" -isystem $(PICOLIBC)/include "$$@" ;;
    esac
done
exec $(CC) $(USER_CFLAGS) $(USER_DEFINES) -isystem "$$here/include" -isystem $(PICOLIBC)/include -nostdlib -static \
    $(addprefix -Wl$(comma),$(USER_LD_OPTIONS)) \
    -T "$$here/user.ld" "$$here/crt0.o" "$$@" \
    -L$(USER_LIBC) -Wl,--start-group "$$here/libuser.a" -lc $(USER_LIBGCC) -Wl,--end-group
endef
export SCRIPT

$(OUT)/cc: library.mk flags.mk
	@mkdir -p $(@D)
	@printf '%s\n' "$$SCRIPT" >$@
	@chmod +x $@
