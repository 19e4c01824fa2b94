# The image's own programs of user mode, and the archive of them. Part of kernel/Makefile.

include ../user/flags.mk

USER_PROGRAMS := $(patsubst $(USERLAND)/programs/%.c,$(OUT)/user/programs/%.elf,$(sort $(wildcard $(USERLAND)/programs/*.c)))
USER_LIBRARY := $(OUT)/user/lib/libuser.a
USER_CRT0 := $(OUT)/user/lib/crt0.o

$(OUT)/user/lib/%.o $(OUT)/user/programs/%.o: CFLAGS = $(USER_CFLAGS) $(USER_DEFINES) $(USER_OWN_CFLAGS) -I$(INCLUDE) \
	-isystem $(PICOLIBC)/include
$(OUT)/user/lib/%.o $(OUT)/user/programs/%.o: $(USER_LIB_HEADERS)

$(OUT)/user/%.o: $(USERLAND)/%.c $(USERLAND)/programs.mk $(USERLAND)/flags.mk
	@mkdir -p $(@D)
	@echo '  CC $@'
	@$(OBJCACHE) $(CC) $(CFLAGS) -c $< -o $@

$(OUT)/user/%.o: $(USERLAND)/%.S $(USERLAND)/programs.mk $(USERLAND)/flags.mk
	@mkdir -p $(@D)
	@echo '  CC $@'
	@$(OBJCACHE) $(CC) $(CFLAGS) -c $< -o $@

.PRECIOUS: $(OUT)/user/programs/%.o

$(USER_LIBRARY): $(patsubst $(USERLAND)/lib/%.c,$(OUT)/user/lib/%.o,$(USER_LIB_SOURCES))
	@rm -f $@
	@$(CROSS)ar crs $@ $^

# STRIP=-S leaves them their symbols, which are not loaded.
STRIP ?= -s
# They print no floating-point numbers, and are loaded in half the time without the code for them.
$(OUT)/user/programs/%.elf: $(OUT)/user/programs/%.o $(USER_LIBRARY) $(USER_CRT0) $(USERLAND)/lib/user.ld
	@echo '  LD $@'
	@$(LLD) -m elf32lriscv -nostdlib -static $(USER_LD_OPTIONS) $(STRIP) --defsym=vfprintf=__i_vfprintf $(SHUFFLE) \
		-T $(USERLAND)/lib/user.ld $(USER_CRT0) $< $(USER_LIBRARY) $(USER_LIBC)/libc.a $(USER_LIBGCC) -o $@

$(OUT)/user/programs.cpio: $(USER_PROGRAMS) $(USERLAND)/archive.py
	@$(PYTHON) $(USERLAND)/archive.py $@ $(USER_PROGRAMS)
