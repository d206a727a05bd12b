# Building for other systems, libraries and compilers, and checks that do so. What has been tried where:
# doc/platforms.md.
#
#   make PORTABLE=1       what POSIX and the libraries have, and nothing else: poll instead of inotify,
#                         process groups instead of subreapers, no sandbox, no awf-serve
#   make OLDEST=1         as if the C library and libcurl were the oldest that AWF can be built with,
#                         to try here what is done there
#   make check-portable   the first of these, which functions it links, and its tests
#   make check-oldest     build with the packages of SUITE (bullseye: Debian 11) below ROOT, and run the
#                         demo with its libraries alone (as root); MIRROR: where apt gets them
#   make check-musl       compile with musl-gcc what does not need libcurl, link what starts often
#   make check-cross      build for CROSS (aarch64-linux-gnu), and run the demo by QEMU
#   make check-compilers  clang, 32 bits, -O3 -flto: without a warning

PORTABILITY_CFLAGS = $(if $(PORTABLE),-DAWF_PORTABLE) $(if $(OLDEST),-DAWF_OLDEST)

# ---- make PORTABLE=1 ----

ifdef PORTABLE
# An archive of a library needs what its own system has.
SHARED_LIBS = 1
LEFT_OUT_ROOMS = serve serve_runs models httpd
# What sandboxes are made of; of awf-sandbox remains what says that there is none.
LEFT_OUT = $(patsubst %,lib/isolate/%.c,capabilities keeper landlock limits loopback mounts overlay \
	overlay_plan seccomp seccomp_rules userns) \
	$(filter-out cmd/sandbox/main.c cmd/sandbox/settings.c cmd/sandbox/run.c,$(wildcard cmd/sandbox/*.c))
# Tests in C that name Linux: tests/portable.skips has the reasons.
LEFT_OUT_TESTS := $(shell sed -n 's/^\(tests\/[^ ]*\.c\)	.*/\1/p' tests/portable.skips)
# What the C library has and others lack is taken away from the programs, not from their tests.
$(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard lib/*/*.c cmd/*/*.c)): PORTABILITY_CFLAGS += -include tests/portable.h
endif

check-portable:
	@$(MAKE) --no-print-directory PORTABLE=1 tests
	sh tests/support/portable-symbols.sh build/portable
	BUILD=$(abspath build/portable) sh tests/run

# ---- the oldest libraries ----

SUITE ?= bullseye
ROOT ?= build/$(SUITE)-root
# As on a machine of that system, with this machine's compiler.
OLD = CC='$(CC) --sysroot=$(abspath $(ROOT))' BUILD=build/$(SUITE) \
	PKG_CONFIG='env PKG_CONFIG_SYSROOT_DIR=$(abspath $(ROOT)) PKG_CONFIG_LIBDIR=$(abspath $(ROOT))/usr/lib/$(shell $(CC) -print-multiarch)/pkgconfig:$(abspath $(ROOT))/usr/share/pkgconfig pkg-config'
$(ROOT)/unpacked: packaging/debian-root
	sh packaging/debian-root '$(SUITE)' '$(ROOT)' $(MIRROR)
check-oldest: $(ROOT)/unpacked
	$(MAKE) --no-print-directory $(OLD) all
	sh packaging/demo-in-root '$(ROOT)' build/$(SUITE)

# ---- musl ----

check-musl:
	sh packaging/check-musl build/musl

# ---- another kind of machine ----

CROSS ?= aarch64-linux-gnu
# As Debian calls that kind of machine, and where its packages are unpacked.
CROSS_ARCHITECTURE ?= arm64
CROSS_ROOT ?= build/$(CROSS_ARCHITECTURE)-root
CROSS_SUITE ?= $(shell . /etc/os-release && echo "$$VERSION_CODENAME")
build/$(CROSS_ARCHITECTURE)-root/unpacked: packaging/debian-root
	ARCHITECTURE=$(CROSS_ARCHITECTURE) sh packaging/debian-root '$(CROSS_SUITE)' build/$(CROSS_ARCHITECTURE)-root $(MIRROR)
check-cross: $(CROSS_ROOT)/unpacked
	@command -v $(CROSS)-gcc >/dev/null || { echo 'check-cross: there is no $(CROSS)-gcc'; exit 1; }
	$(MAKE) --no-print-directory CC='$(CROSS)-gcc --sysroot=$(abspath $(CROSS_ROOT))' \
	  PKG_CONFIG='env PKG_CONFIG_SYSROOT_DIR=$(abspath $(CROSS_ROOT)) PKG_CONFIG_LIBDIR=$(abspath $(CROSS_ROOT))/usr/lib/$(CROSS)/pkgconfig:$(abspath $(CROSS_ROOT))/usr/share/pkgconfig pkg-config' \
	  OBJCOPY=$(CROSS)-objcopy STRIP=$(CROSS)-strip AR=$(CROSS)-ar BUILD=build/$(CROSS) all
	sh packaging/demo-by-qemu '$(firstword $(subst -, ,$(CROSS)))' build/$(CROSS) '$(abspath $(CROSS_ROOT))'

# ---- compilers ----

# All warnings are errors; lint has the flags of each. -flto sees what one file does to another.
check-compilers:
	BUILD=$(abspath $(BUILD)) sh tests/lint clang narrow
	$(MAKE) --no-print-directory BUILD=build/lto OPT='-O3 -flto=auto' CFLAGS='-O3 -flto=auto -g -Werror' \
	  LDFLAGS='-O3 -flto=auto -Werror' AR=gcc-ar all

.PHONY: check-portable check-oldest check-musl check-cross check-compilers
