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
# The folder of musl's sources, of which these are taken instead of picolibc's or beside it: its streams, formatted input and
# output, conversions of numbers, regular expressions, and names of hosts and services (<netdb.h>). Those of wide characters,
# and what creates files by other system calls, are not.
MUSL ?=
MUSL_WITHOUT := ext ext2 fgetwc fgetws flockfile fputwc fputws ftrylockfile funlockfile fwide fwprintf fwscanf getwc getwchar gets \
    open_wmemstream pclose popen putwc putwchar remove rename swprintf swscanf tempnam tmpfile tmpnam ungetwc vfwprintf vfwscanf \
    vswprintf vswscanf vwprintf vwscanf wprintf wscanf
MUSL_NETWORK := dn_expand dn_skipname dns_parse freeaddrinfo gai_strerror getaddrinfo gethostbyaddr gethostbyaddr_r gethostbyname \
    gethostbyname2 gethostbyname2_r getnameinfo getservbyname getservbyname_r getservbyport getservbyport_r hstrerror htonl htons inet_aton \
    inet_ntop inet_pton ntohl ntohs lookup_ipliteral lookup_name lookup_serv proto res_mkquery res_msend res_send resolvconf
MUSL_SOURCES := $(filter-out $(MUSL_WITHOUT:%=$(MUSL)/src/stdio/%.c),$(wildcard $(MUSL)/src/stdio/*.c)) \
    $(wildcard $(MUSL)/src/regex/*.c) \
    $(patsubst %,$(MUSL)/src/%.c,internal/floatscan internal/intscan internal/shgetc stdlib/atof stdlib/strtod stdlib/strtol \
    stdlib/gcvt string/strchrnul string/strsep time/strftime time/strptime time/__month_to_secs time/__tm_to_secs time/__year_to_secs \
    $(MUSL_NETWORK:%=network/%))
PICOLIBC_KEPT := mk[a-z]*temps?|mktemp|remove|tmpfile|tmpnam|[ef]cvt[rf]*(_r)?|dtoa.*|ftoa.*|ryu.*
# What is in the place of these, or what they are made of is not there.
PICOLIBC_WITHOUT := libc_picolib_picosbrk.c.o libc_picolib_inittls.c.o libc_ssp_gets_chk.c.o libc_time_strptime.c.o
MUSL_HEADERS := fnmatch.h glob.h regex.h resolv.h netdb.h arpa/inet.h arpa/nameser.h ifaddrs.h net/ethernet.h net/if.h net/if_arp.h net/route.h \
    netinet/if_ether.h netinet/in.h netinet/in_systm.h netinet/ip.h netinet/ip_icmp.h

include flags.mk

# picolibc's streams, and their mend, are what the image's own programs have.
OWN := $(filter-out %/lib/stdio.c %/lib/strtod.c,$(USER_LIB_SOURCES)) $(wildcard $(USERLAND)/lib/musl/*.c)
OBJECTS := $(OWN:$(USERLAND)/lib/%.c=$(OUT)/objects/%.o) $(MUSL_SOURCES:$(MUSL)/%.c=$(OUT)/objects/musl/%.o)
INCLUDES := -iquote $(USERLAND)/.. -isystem $(OUT)/include -isystem $(PICOLIBC)/include
MUSL_CFLAGS := -std=gnu11 -w -D_DEFAULT_SOURCE -include $(USERLAND)/lib/musl/musl.h -iquote $(USERLAND)/lib/musl \
    -I$(MUSL)/src/internal -I$(MUSL)/src/network $(INCLUDES)

.PHONY: all
all: $(OUT)/libuser.a $(OUT)/libc.a $(OUT)/crt0.o $(OUT)/user.ld $(OUT)/include $(OUT)/cc

$(OUT)/objects/musl/%.o: $(MUSL)/%.c | $(OUT)/include
	@mkdir -p $(@D)
	@$(OBJCACHE) $(CC) $(USER_CFLAGS) $(USER_DEFINES) $(MUSL_CFLAGS) -c $< -o $@

# musl 1.2.3 takes a last record that ends up to ten bytes behind its message.
$(OUT)/objects/musl/src/network/dns_parse.o: $(MUSL)/src/network/dns_parse.c | $(OUT)/include
	@mkdir -p $(@D)
	@sed 's/p+len > r+rlen/p+10+len > r+rlen/' $< >$(@:.o=.c)
	@! cmp -s $< $(@:.o=.c)
	@$(OBJCACHE) $(CC) $(USER_CFLAGS) $(USER_DEFINES) $(MUSL_CFLAGS) -c $(@:.o=.c) -o $@

$(OUT)/objects/musl/streams.o $(OUT)/objects/musl/network.o: $(OUT)/objects/musl/%.o: $(USERLAND)/lib/musl/%.c | $(OUT)/include
	@mkdir -p $(@D)
	@$(OBJCACHE) $(CC) $(USER_CFLAGS) $(USER_DEFINES) $(MUSL_CFLAGS) -c $< -o $@

# network.c has one in front of each.
$(OUT)/objects/musl/src/network/resolvconf.o: MUSL_CFLAGS += -D__get_resolv_conf=musl_get_resolv_conf
$(OUT)/objects/musl/src/stdio/__fopen_rb_ca.o: MUSL_CFLAGS += -D__fopen_rb_ca=musl_fopen_rb_ca
# Case does not count in names of hosts: in the hosts file as at a name server.
$(OUT)/objects/musl/src/network/lookup_name.o: MUSL_CFLAGS += -Dstrstr=strcasestr

$(OUT)/objects/%.o: $(USERLAND)/lib/%.c $(USER_LIB_HEADERS) | $(OUT)/include
	@mkdir -p $(@D)
	@$(OBJCACHE) $(CC) $(USER_CFLAGS) $(USER_DEFINES) -std=gnu11 -Wall -Wextra -Werror -ffile-prefix-map=$(USERLAND)=user \
	    $(INCLUDES) -c $< -o $@

$(OUT)/libuser.a: $(OBJECTS)
	@$(CROSS)ar crs $@ $^

# picolibc without its streams: what else is in it (assert, say) calls musl's.
$(OUT)/libc.a: $(USER_LIBC)/libc.a
	@cp $< $@
	@$(CROSS)ar ds $@ $$($(CROSS)ar t $@ | grep '^libc_tinystdio_' | grep -vE '_($(PICOLIBC_KEPT)).c.o$$') $(PICOLIBC_WITHOUT)

$(OUT)/crt0.o: lib/crt0.S
	@mkdir -p $(@D)
	@$(CC) $(USER_CFLAGS) -c $< -o $@

$(OUT)/user.ld: lib/user.ld
	@mkdir -p $(@D)
	@cp $< $@

$(OUT)/include: $(USER_LIB_HEADERS)
	@mkdir -p $@/user/lib
	@cp -r lib/include/. $@
	@cp -r lib/musl/include/. $@
	@$(foreach name,$(MUSL_HEADERS),mkdir -p $(dir $@/$(name)) && cp $(MUSL)/include/$(name) $@/$(name) &&) true
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
    $(addprefix -Wl$(comma),$(filter-out --wrap=%,$(USER_LD_OPTIONS)) --undefined=flush_at_exit) \
    -T "$$here/user.ld" "$$here/crt0.o" "$$@" -x none \
    -L"$$here" -L$(USER_LIBC) -Wl,--start-group "$$here/libuser.a" -lc $(USER_LIBGCC) -Wl,--end-group
endef
export SCRIPT

$(OUT)/cc: library.mk flags.mk
	@mkdir -p $(@D)
	@printf '%s\n' "$$SCRIPT" >$@
	@chmod +x $@
