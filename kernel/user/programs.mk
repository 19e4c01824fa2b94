# Programs of user mode, and the archive that puts them into the image. Part of kernel/Makefile.

USER_PROGRAMS := $(patsubst user/programs/%.c,$(OUT)/user/programs/%.elf,$(sort $(wildcard user/programs/*.c)))
USER_LIB := $(OUT)/user/lib/crt0.o $(OUT)/user/lib/system.o
USER_HEADERS := user/abi.h $(wildcard user/lib/*.h)
USER_CFLAGS := -std=gnu11 -O2 -march=rv32ima_zicsr -mabi=ilp32 -mcmodel=medany -mno-relax -ffunction-sections -fdata-sections \
	-ffile-prefix-map=$(CURDIR)/=kernel/ -Wall -Wextra -Werror -I. -I$(INCLUDE) -isystem $(PICOLIBC)/include
# Programs print no floating-point numbers, and are loaded in half the time without the code for them.
USER_LDFLAGS := -Wl,--defsym=vfprintf=__i_vfprintf -nostdlib -static -s -Wl,--gc-sections -Wl,--no-relax -Wl,--build-id=none -Wl,-z,max-page-size=4096 \
	-T user/lib/user.ld

$(OUT)/user/lib/%.o $(OUT)/user/programs/%.o: CFLAGS = $(USER_CFLAGS)
.PRECIOUS: $(OUT)/user/programs/%.o

$(OUT)/user/programs/%.elf: $(OUT)/user/programs/%.o $(USER_LIB) user/lib/user.ld
	@echo '  LD $@'
	@$(CC) $(USER_CFLAGS) $(USER_LDFLAGS) $(USER_LIB) $< $(LIBS) -o $@

$(OUT)/user/programs.cpio: $(USER_PROGRAMS) user/archive.py
	@$(PYTHON) user/archive.py $@ $(USER_PROGRAMS)

$(USER_ARCHIVE): $(OUT)/user/programs.cpio
	@echo '.section .archive,"a"; .globl user_archive; user_archive: .incbin "$<"' | $(CC) $(CFLAGS) -x assembler -c - -o $@
