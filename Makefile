# AWF: record and run AI-agent workflows as Unix pipelines.
#
#   make            build everything below build/
#   make deps       install what building and testing needs (Debian)
#   make check      run the tests, in three minutes on two cores
#   make torture    what takes longer, for TORTURE_SECONDS: tests/torture/run
#   make lint       static checks
#   make check-clis run agent CLIs from npm against the test model server:
#                   VERSIONS=pinned, newest or oldest, CLIS=claude ...
#   make check-mcp  install MCP servers and clients from npm below build/, and test with them:
#                   VERSIONS=pinned, newest or oldest
#   make check-otlp install the definitions of OpenTelemetry from npm, and check what is sent
#   make check-schema  run the published JSON Schema Test Suite: Debian's, or SUITE=PATH
#   make check-invariants  break what invariants promise, one after the other, and see them fail
#   make demo       build and show the main job
#   make picture    make the picture of README anew, from a run
#   make bench      measure, beside the peer commands
#   make fuzz       fuzz the parsers (clang), 30 s each
#   make html       all pages for a browser: the manual, the tutorial and the cookbook, below build/html
#   make install    PREFIX=/usr/local DESTDIR=
#   make dist, deb, static-dist, check-reproducible, check-packages: see packaging/packaging.mk
#   make install-html  the pages for a browser, beside README and examples
#   make SANITIZE=address,undefined check
#   make STATIC=    install with shared libraries also what is started for each run, step and tool
#   make SHARED_LIBS=1  link jansson, libsodium and libyaml as shared libraries in every program, as
#                   distributions want it: their updates reach AWF without building it again
#
# Cross building: make CC=aarch64-linux-gnu-gcc PKG_CONFIG=aarch64-linux-gnu-pkg-config. What has
# to run meanwhile is built for this machine, by BUILD_CC and BUILD_PKG_CONFIG (cc, pkg-config).
#
# Single files: make tests && sh tests/run tests/cli/step/cost.bats build/tests/unit/test_span
# Below build/ lie the programs as they are installed. Tests run those below build/test/,
# made of the same objects but for one: their patience is divided by twenty
# (lib/base/patience.h). AWF_TEST_PATIENCE=real lets tests run the first.

# Also by the name that the GNU Coding Standards have for it: make install prefix=/opt/awf.
prefix ?= /usr/local
PREFIX ?= $(prefix)
BINDIR ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec/awf
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share/awf
DOCDIR ?= $(PREFIX)/share/doc/awf
MANDIR ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d

comma := ,
BUILD ?= build$(if $(SANITIZE),/$(subst $(comma),-,$(SANITIZE)))
PKG_CONFIG ?= pkg-config
BUILD_CC ?= cc
BUILD_PKG_CONFIG ?= pkg-config
# The machine that the programs are for, where it is another kind than this one; else empty.
machine_of = $(firstword $(subst -, ,$(shell $(1) -dumpmachine 2>/dev/null)))
TARGET := $(filter-out $(call machine_of,$(BUILD_CC)),$(call machine_of,$(CC)))
# Where what runs while AWF is built lies.
NATIVE = $(if $(TARGET),$(BUILD)/build-machine,$(BUILD))
OBJCOPY ?= objcopy
STRIP ?= strip

DEPS_BUILD = gcc make pkg-config libjansson-dev libcurl4-openssl-dev libsodium-dev libyaml-dev \
	libseccomp-dev libsqlite3-dev libpq-dev
DEPS_TEST = libcmocka-dev libmicrohttpd-dev perl jq gojq tmux procps python3 python3-jsonschema \
	git cron less curl mount openssl valgrind strace openssh-client sqlite3 python3-yaml
# Servers, which some systems start as they are installed, and what cuts them off: make deps installs
# them, make check asks for none, and skips what needs one that is not there. Nobody installs what the
# tests of Slurm and of containers need: slurmctld, slurmd, slurm-client and munge; podman, runc and
# catatonit, or docker.io.
DEPS_SERVERS = postgresql openssh-server iproute2 nftables nginx-light tinyproxy
DEPS_LINT = clang clang-tidy cppcheck groff mandoc shellcheck libclang-rt-dev zsh fish
DEPS_HTML = mandoc python3
VERSIONS ?= pinned
MCP_SERVERS = $(addprefix @modelcontextprotocol/server-,everything@2026.8.31 filesystem@2026.8.31 \
  sequential-thinking@2026.8.31)
MCP_CLIENTS = $(addprefix @modelcontextprotocol/,sdk@1.32.2 client@2.4.0 inspector@0.15.0)
# The newest of the first have no definitions, only what writes by them.
OTLP_MODULES = @opentelemetry/otlp-transformer@0.200.0 @opentelemetry/semantic-conventions@1.45.0

# Wherever it is built, the same bytes come of it: no path of this machine is in them, archives have no dates,
# and what is linked is in one order.
export PWD := $(CURDIR)
PLACELESS = '-ffile-prefix-map=$(CURDIR)=.' $(if $(filter /%,$(BUILD)),'-ffile-prefix-map=$(BUILD)=build')
ARCHIVE = $(AR) rcsD

OPT ?= -O2
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Werror=implicit-function-declaration \
	-Wno-missing-field-initializers
SANFLAGS = $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
CFLAGS ?= $(OPT) -g
ALL_CFLAGS = -std=c11 -pthread -D_XOPEN_SOURCE=700 -D_DEFAULT_SOURCE -Iinclude -Ilib -Icmd -I$(BUILD)/gen \
	-D_FILE_OFFSET_BITS=64 $(PLACES) $(PLACELESS) \
	$(WARN) $(SANFLAGS) -fPIE -fstack-protector-strong -MMD -MP $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pthread $(SANFLAGS) -Wl,--as-needed $(LDFLAGS)

# pkg-config only when something is built, so that `make deps` needs nothing.
CORE_CFLAGS = $(shell $(PKG_CONFIG) --cflags jansson libsodium yaml-0.1)
CORE_LIBS = $(shell $(PKG_CONFIG) --libs jansson libsodium yaml-0.1)
# Programs have the archives where there are any: more than half of the instructions that it takes
# to start awf-step were the linking of shared ones. What is started for each run, step and tool is
# installed with no shared library at all, where there are archives of all that it needs. They lie
# at another address each time nevertheless: not static at all where the C library cannot do that.
# Tests run such with shared ones, to have faults put in between.
# SHARED_LIBS=1: with shared libraries all of them, so that updates of a distribution reach them.
PROGRAM_LIBS = $(if $(SHARED_LIBS),$(CORE_LIBS),$(call linked_libs))
linked_libs = $(eval linked_libs := $(foreach l,$(CORE_LIBS),$(if $(filter -l%,$(l)),$(call archive,$(l:-l%=%)),$(l))))$(linked_libs)
archive = $(shell a=$$($(CC) -print-file-name=lib$(1).a); [ "$$a" = lib$(1).a ] && echo -l$(1) || echo $$a)
STATIC = $(if $(or $(SANITIZE),$(SHARED_LIBS),$(filter -l%,$(PROGRAM_LIBS)),$(filter -l%,$(call archive,c)),$(filter rcrt1.o,$(shell $(CC) -print-file-name=rcrt1.o))),,1)
CURL_CFLAGS = $(shell $(PKG_CONFIG) --cflags libcurl)
CURL_LIBS = $(shell $(PKG_CONFIG) --libs libcurl)
SODIUM_LIBS = $(shell $(PKG_CONFIG) --libs libsodium)
SECCOMP_LIBS = $(shell $(PKG_CONFIG) --libs libseccomp)
TEST_CFLAGS = $(shell $(PKG_CONFIG) --cflags cmocka libmicrohttpd)
TEST_LIBS = $(shell $(PKG_CONFIG) --libs cmocka)
# The model server of the tests.
HTTPD_LIBS = $(shell $(PKG_CONFIG) --libs libmicrohttpd)

# Which rooms there are, and what each needs.
include rooms.mk
CMD_ROOMS := $(patsubst cmd/%/,%,$(sort $(wildcard cmd/*/)))
# closure ROOMS: they, and all that they need, directly or not.
closure = $(if $(filter-out $(1),$(foreach r,$(1),$(NEEDS_$(r)))),$(call closure,$(sort $(1) $(foreach r,$(1),$(NEEDS_$(r))))),$(1))
OPTIONAL_SRC = $(WITH_sqlite3) $(WITH_libpq)
LIB_SRC := $(filter-out lib/isolate/seccomp_rules.c $(foreach r,$(NET_ROOMS) shared,lib/$(r)/%),$(sort $(wildcard lib/*/*.c)))
NET_SRC := $(sort $(wildcard $(NET_ROOMS:%=lib/%/*.c)))
SHARED_SRC := $(sort $(wildcard lib/shared/*.c))
MAIN_SRC := $(wildcard $(foreach r,$(filter-out $(APART),$(CMD_ROOMS)),cmd/$(r)/main.c cmd/$(r)/*_main.c))
# parts ROOM: what its programs have in common.
parts = $(filter-out $(MAIN_SRC) $(OPTIONAL_SRC),$(sort $(wildcard cmd/$(1)/*.c)))
# Those that have any: an archive each, for tests too.
PART_ROOMS := $(foreach r,$(filter-out $(APART),$(CMD_ROOMS)),$(if $(call parts,$(r)),$(r)))
TOOL_FILE := $(wildcard cmd/tool/*.tool.json)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
SUPPORT_SRC := $(wildcard tests/support/*.c)
FAULT_SRC := $(wildcard tests/fault/fault_*.c)
PRELOAD := $(patsubst %,$(BUILD)/tests/fault/%.so,preload quota trace powercut)
BENCH_SRC := $(wildcard tests/bench/*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
SCHEMAS := $(sort $(wildcard lib/schema/*.schema.json lib/projection/*.schema.json))
MAN := $(wildcard man/*.[1357])

object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
GEN_SRC := $(patsubst %.schema.json,$(BUILD)/gen/%_schema.c,$(notdir $(SCHEMAS)))
GEN_OBJ := $(GEN_SRC:.c=.o) $(BUILD)/gen/seccomp_filters.o
LIB = $(BUILD)/libawf.a
NET = $(BUILD)/libawf-net.a
# The archives of a room, and of the programs' rooms that it needs, each before all that it needs: one may
# stand there twice ($+).
part_lib = $(if $(filter $(1),$(PART_ROOMS)),$(BUILD)/libawf-$(1).a) $(foreach r,$(filter $(CMD_ROOMS),$(NEEDS_$(1))),$(call part_lib,$(r)))
net_lib = $(if $(filter $(NET_ROOMS),$(call closure,$(1))),$(NET))
# In that order too, those that need others of them first.
PART_LIB := $(foreach r,$(PART_ROOMS),$(if $(filter $(r),$(foreach o,$(PART_ROOMS),$(NEEDS_$(o)))),,$(call part_lib,$(r))))

# What other programs link (awf-transcript(3)).
SHARED_NAME = libawf-transcript.so
SHARED_SONAME = $(SHARED_NAME).0
SHARED = $(BUILD)/libawf-transcript.a $(BUILD)/$(SHARED_SONAME)

# room_of SOURCE; program SOURCE: where it is built, below BUILD.
room_of = $(patsubst cmd/%/,%,$(dir $(1)))
room_program = $(or $(PROGRAM_$(1)),awf-$(1))
program = $(strip $(if $(filter main.c,$(notdir $(1))),$(if $(filter $(call room_of,$(1)),$(FOR_USERS)),bin,libexec/awf)/$(call room_program,$(call room_of,$(1))),libexec/awf/$(or $(PREFIX_$(call room_of,$(1))),awf-$(call room_of,$(1))-)$(patsubst %_main.c,%,$(notdir $(1)))))
programs = $(foreach s,$(1),$(BUILD)/$(call program,$(s)))
BIN := $(filter $(BUILD)/bin/%,$(call programs,$(MAIN_SRC)))
OPTIONAL := $(call programs,$(filter $(MAIN_SRC),$(OPTIONAL_SRC)))
LIBEXEC := $(filter-out $(BIN) $(OPTIONAL),$(call programs,$(MAIN_SRC)))
TOOL_FILES := $(patsubst cmd/tool/%,$(BUILD)/libexec/awf/%,$(TOOL_FILE))
# Preloaded by awf-verify --determinism.
CLOCK = $(BUILD)/libexec/awf/clock.so
PROGRAMS := $(BIN) $(LIBEXEC) $(OPTIONAL) $(CLOCK) $(TOOL_FILES)
# Started for each run, step and tool, and what of it is installed.
STARTED := $(call programs,$(filter $(STARTED_ROOMS:%=cmd/%/%),$(MAIN_SRC)))
installed = $(if $(STATIC),$(patsubst $(BUILD)/%,$(BUILD)/static-pie/%,$(filter $(STARTED),$(1))) $(filter-out $(STARTED),$(1)),$(1))
TEST_PROGRAMS := $(patsubst $(BUILD)/%,$(BUILD)/test/%,$(PROGRAMS) $(SHARED)) $(BUILD)/test/tests
# Linked before the library, whose own is then left out.
HURRIED = $(BUILD)/obj/tests/patience.o
UNIT := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(UNIT_SRC))
SUPPORT := $(patsubst tests/support/%.c,$(BUILD)/tests/support/%,$(SUPPORT_SRC))
FAULT := $(patsubst tests/fault/%.c,$(BUILD)/tests/fault/%,$(FAULT_SRC))
BENCH := $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,$(BENCH_SRC))

# That of a line is made from the table of events.
LINE_SCHEMA = $(BUILD)/gen/transcript.schema.json
all: $(PROGRAMS) $(SHARED) $(LINE_SCHEMA)
$(LINE_SCHEMA): $(NATIVE)/bin/awf-verify
	@mkdir -p $(@D)
	$< --schema >$@.tmp && mv $@.tmp $@
$(BUILD)/test/gen/transcript.schema.json: $(LINE_SCHEMA)
	@mkdir -p $(@D)
	cp $< $@

-include $(wildcard $(BUILD)/obj/*/*.d $(BUILD)/obj/*/*/*.d)

$(BUILD)/obj/%.o: %.c | packages
	@mkdir -p $(@D)
	$(if_there)$(CC) $(ALL_CFLAGS) $(SHAREABLE) $(EXTRA_CFLAGS) -c -o $@ $<
$(call object,$(wildcard lib/*/*.c cmd/*/*.c)): EXTRA_CFLAGS = $(CORE_CFLAGS)
$(call object,$(NET_SRC)): EXTRA_CFLAGS = $(CORE_CFLAGS) $(CURL_CFLAGS)
$(call object,$(UNIT_SRC) $(SUPPORT_SRC) $(FAULT_SRC) $(BENCH_SRC)): EXTRA_CFLAGS = $(CORE_CFLAGS) $(TEST_CFLAGS)

# What needs a library that a machine may lack (NEEDS, as pkg-config calls it) is left out there.
if_there = $(if $(NEEDS),$(PKG_CONFIG) --exists $(NEEDS) || { echo "$(@F) is left out: $(NEEDS) is not here"; exit 0; }; )
needing = $(call object,$(1)) $(foreach s,$(filter $(MAIN_SRC),$(1)),$(foreach d,$(BUILD) $(BUILD)/test $(BUILD)/static-pie,$(d)/$(call program,$(s))))
$(call needing,$(WITH_sqlite3)): private NEEDS = sqlite3
$(call needing,$(WITH_libpq)): private NEEDS = libpq
$(call object,$(WITH_libpq)): EXTRA_CFLAGS = $(CORE_CFLAGS) $(shell $(PKG_CONFIG) --cflags libpq 2>/dev/null)

# What the library for other programs may consist of: compiled once, to be linked into that
# too, as well as if it were not: names are hidden but for those of awf/transcript.h.
$(call object,$(wildcard $(patsubst %,lib/%/*.c,$(call closure,shared)))): SHAREABLE = -fPIC -fvisibility=hidden

# What has a place of the installation compiled in is built again for another one.
PLACED = $(call object,lib/io/installation.c lib/proc/libexec.c lib/isolate/sandbox.c)
$(PLACED): PLACES = -DAWF_LIBEXECDIR='"$(LIBEXECDIR)"' -DAWF_DATADIR='"$(DATADIR)"' \
	-DAWF_BINDIR='"$(BINDIR)"'
$(PLACED): $(BUILD)/places
$(BUILD)/places: always
	@mkdir -p $(@D)
	@printf '%s\n' '$(LIBEXECDIR)' '$(DATADIR)' '$(BINDIR)' | cmp -s - $@ || \
	  printf '%s\n' '$(LIBEXECDIR)' '$(DATADIR)' '$(BINDIR)' >$@
always:

ifneq ($(TARGET),)
$(NATIVE)/bin/awf-verify $(NATIVE)/seccomp_rules: always
	$(MAKE) --no-print-directory BUILD=$(NATIVE) CC='$(BUILD_CC)' PKG_CONFIG='$(BUILD_PKG_CONFIG)' SANITIZE= $@
endif

# Filters of system calls: libseccomp makes them here, and no program needs it when it runs.
$(BUILD)/seccomp_rules: $(call object,lib/isolate/seccomp_rules.c)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(SECCOMP_LIBS)
$(BUILD)/gen/seccomp_filters.c: $(NATIVE)/seccomp_rules
	@mkdir -p $(@D)
	$< $(TARGET) >$@.tmp && mv $@.tmp $@

# c_string NAME: the text of the first prerequisite, as a C string of this name.
define c_string
@mkdir -p $(@D)
{ echo 'extern const char $(1)[];'; echo 'const char $(1)[] ='; \
  sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' $<; echo ';'; } > $@.tmp && mv $@.tmp $@
endef
# A schema: NAME_schema[], with _ for each - of the name.
vpath %.schema.json $(sort $(dir $(SCHEMAS)))
$(BUILD)/gen/%_schema.c: %.schema.json
	$(call c_string,$(subst -,_,$*)_schema)
# Tables: NAME_sql[].
$(BUILD)/gen/%_sql.c: cmd/ship/%.sql
	$(call c_string,$*_sql)
# A style sheet: NAME_css[].
$(BUILD)/gen/%_css.c: cmd/replay/%.css
	$(call c_string,$*_css)
$(BUILD)/gen/%.o: $(BUILD)/gen/%.c | packages
	$(CC) $(filter-out -Wpedantic,$(ALL_CFLAGS)) -c -o $@ $<

$(LIB): $(call object,$(LIB_SRC)) $(GEN_OBJ)
$(NET): $(call object,$(NET_SRC))
$(foreach r,$(PART_ROOMS),$(eval $(BUILD)/libawf-$(r).a: $(call object,$(call parts,$(r)))))
$(BUILD)/libawf-ship.a: $(BUILD)/gen/sqlite_sql.o $(BUILD)/gen/postgresql_sql.o
$(BUILD)/libawf-replay.a: $(BUILD)/gen/page_css.o
$(LIB) $(NET) $(PART_ROOMS:%=$(BUILD)/libawf-%.a):
	@mkdir -p $(@D)
	@rm -f $@
	$(ARCHIVE) $@ $^

# shared DIRECTORY OBJECTS: the library for other programs, with these objects. What it needs
# is linked into one object, in which all names become local but those of the interface: a
# program that links it may have any names but awf_ ones.
define shared
$(1)/awf-transcript.o: $(call object,$(SHARED_SRC)) $(2) $(LIB)
	@mkdir -p $$(@D)
	$$(CC) -r -nostdlib -o $$@.tmp $$^
	$$(OBJCOPY) --wildcard --keep-global-symbol='awf_*' $$@.tmp $$@
	@rm -f $$@.tmp
$(1)/libawf-transcript.a: $(1)/awf-transcript.o
	@rm -f $$@
	$$(ARCHIVE) $$@ $$^
$(1)/$(SHARED_SONAME): $(1)/awf-transcript.o lib/shared/awf-transcript.map
	$$(CC) $$(ALL_LDFLAGS) -shared -Wl,-soname,$(SHARED_SONAME) \
	  -Wl,--version-script=lib/shared/awf-transcript.map -o $$@ $$< $$(SODIUM_LIBS)
endef
$(eval $(call shared,$(BUILD),))
$(eval $(call shared,$(BUILD)/test,$(HURRIED)))

# link DIRECTORY OBJECTS SOURCE ROOM: the program of this source below the directory, with these objects.
define link
$(1)/$(call program,$(3)): $(call object,$(3)) $(2) $(call part_lib,$(4)) $(call net_lib,$(4)) $(LIB)
	@mkdir -p $$(@D)
	$$(if_there)$$(CC) $$(ALL_LDFLAGS) -o $$@ $$+ $$(PROGRAM_LIBS)$(if $(call net_lib,$(4)), $$(CURL_LIBS)) $$(if $$(NEEDS),$$(shell $(PKG_CONFIG) --libs $$(NEEDS)),$(if $(call net_lib,$(4)),$$(STAND_INS)))

endef
# link_all DIRECTORY OBJECTS FLAGS: all programs below it, with these objects; what is started for each run,
# step and tool is linked with these flags.
define link_all
$(foreach s,$(MAIN_SRC),$(call link,$(1),$(2),$(s),$(call room_of,$(s))))
$(patsubst $(BUILD)/%,$(1)/%,$(STARTED)): ALL_LDFLAGS += $(3)
# What a tool of AWF's own is lies beside it: NAME.tool.json, whose command it is.
$(1)/libexec/awf/%.tool.json: cmd/tool/%.tool.json
	@mkdir -p $$(@D)
	cp $$< $$@
# Each filter of a database has what reaches that in itself, and is left out where the library is not here.
$(1)/libexec/awf/awf-ship-sqlite $(1)/libexec/awf/awf-mirror-sqlite: $(call object,cmd/ship/sqlite.c)
$(1)/libexec/awf/awf-ship-postgresql $(1)/libexec/awf/awf-mirror-postgresql: $(call object,cmd/ship/postgresql.c)
endef
$(eval $(call link_all,$(BUILD),))
$(eval $(call link_all,$(BUILD)/test,$(HURRIED)))
# They start in half the time without libraries that libcurl links, and that no test uses; what has a further
# library (NEEDS) may take them for that.
STAND_IN_DIR = $(BUILD)/test/stand-ins
$(TEST_PROGRAMS): | $(STAND_IN_DIR)
$(TEST_PROGRAMS): private STAND_INS = -Wl,--disable-new-dtags,-rpath,$(abspath $(STAND_IN_DIR))
$(STAND_IN_DIR): tests/support/stand-ins.sh
	sh $< '$(CC)' $@
$(eval $(call link_all,$(BUILD)/static-pie,,-static-pie $(STATIC_NAMES)))
$(BUILD)/test/tests:
	@mkdir -p $(@D)
	ln -sfn ../tests $@

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(HURRIED) $(PART_LIB) $(NET) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $+ $(UNIT_LIBS) $(TEST_LIBS) $(CORE_LIBS) $(CURL_LIBS)
# The library for other programs as they link it, with memory that can run out.
LIBRARY_TEST = $(BUILD)/tests/unit/test_library
$(LIBRARY_TEST): $(BUILD)/test/libawf-transcript.a
$(LIBRARY_TEST): UNIT_LIBS = $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc)
$(BUILD)/tests/support/%: $(BUILD)/obj/tests/support/%.o $(PART_LIB) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $+ $(HTTPD_LIBS) $(CORE_LIBS)
$(BUILD)/tests/fault/%: $(BUILD)/obj/tests/fault/%.o $(PART_LIB) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $+ $(CORE_LIBS) -lm
$(call object,cmd/clock/clock.c): EXTRA_CFLAGS = -fPIC $(if $(SANITIZE),-fno-sanitize=all)
$(CLOCK) $(BUILD)/test/libexec/awf/clock.so: $(call object,cmd/clock/clock.c)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -o $@ $<
$(PRELOAD): $(BUILD)/tests/fault/%.so: tests/fault/%.c | packages
	@mkdir -p $(@D)
	$(CC) $(filter-out $(SANFLAGS) -MMD -MP,$(ALL_CFLAGS)) -fPIC -shared -o $@ $<
$(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(PART_LIB) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $+ $(CORE_LIBS)
# No more than has to be started: no library, none of the archives.
$(BUILD)/tests/bench/bench_floor: $(BUILD)/obj/tests/bench/bench_floor.o
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) $(if $(SANITIZE),,-static) -o $@ $<

# Installs what is missing, once, before anything is compiled.
packages:
	@$(PKG_CONFIG) --exists jansson libcurl libsodium yaml-0.1 libseccomp 2>/dev/null || sh tests/support/deps.sh $(DEPS_BUILD)
deps:
	@echo "deps: installing $(DEPS_BUILD) $(DEPS_TEST) $(DEPS_LINT) $(DEPS_SERVERS)"
	@sh tests/support/deps.sh $(DEPS_BUILD) $(DEPS_TEST) $(DEPS_LINT) $(DEPS_SERVERS)

# The rooms and programs, for tests.
rooms:
	@$(foreach t,CORE AGENTS ADD_ONS,echo tier $(t) $($(t));)
	@echo across $(ACROSS); echo public $(PUBLIC_ROOMS:%=%/) $(PUBLIC)
	@$(foreach r,$(sort $(CORE) $(AGENTS) $(ADD_ONS)),echo room $(r) $(NEEDS_$(r));)
	@$(foreach s,$(MAIN_SRC),echo program $(call program,$(s)) $(call room_of,$(s));)

tests: all $(TEST_PROGRAMS) $(BUILD)/test/gen/transcript.schema.json $(UNIT) $(SUPPORT) $(FAULT) $(PRELOAD) $(BENCH)
check:
	@sh tests/support/deps.sh --if-missing $(DEPS_BUILD) $(DEPS_TEST)
	@$(MAKE) --no-print-directory tests
	BUILD=$(abspath $(BUILD)) sh tests/run
torture:
	@sh tests/support/deps.sh --if-missing $(DEPS_BUILD) $(DEPS_TEST) clang libclang-rt-dev
	BUILD=$(abspath $(BUILD)) sh tests/torture/run
check-mcp: tests
	npm install --prefix $(BUILD)/test/mcp --no-audit --no-fund --silent $(MCP_SERVERS) $(MCP_CLIENTS)
	npm_config_cache=$(abspath $(BUILD))/test/mcp/cache npx -y --package $(lastword $(MCP_SERVERS)) -c true
	BUILD=$(abspath $(BUILD)) sh tests/run tests/cli/mcp/mcp.bats tests/cli/mcp/mcp-http.bats tests/cli/mcp/mcp-keep.bats \
	  tests/cli/mcp/mcp-real.bats tests/cli/mcp/awf-mcp-real.bats
	BUILD=$(abspath $(BUILD)) VERSIONS=$(VERSIONS) bash tests/mcp/run
check-otlp: tests
	npm install --prefix $(BUILD)/test/otlp --no-audit --no-fund --silent $(OTLP_MODULES)
	BUILD=$(abspath $(BUILD)) sh tests/run tests/cli/ship/ship-otlp.bats tests/cli/ship/ship-otlp-real.bats
check-schema: $(BUILD)/tests/support/schema-suite
	$(BUILD)/tests/support/schema-suite "$(or $(SUITE),$$(sh tests/support/schema-suite.sh $(BUILD)/suite))"
check-invariants: tests
	python3 tests/support/invariants.py $(BUILD)
# The agent CLIs themselves, from npm.
check-clis:
	@sh tests/support/deps.sh --if-missing $(DEPS_BUILD) $(DEPS_TEST)
	@$(MAKE) --no-print-directory all $(SUPPORT)
	BUILD=$(abspath $(BUILD)) bash tests/clis/run $(VERSIONS) $(CLIS)
lint:
	@sh tests/support/deps.sh --if-missing $(DEPS_BUILD) $(DEPS_TEST) $(DEPS_LINT)
	BUILD=$(abspath $(BUILD)) sh tests/lint
demo:
	@sh tests/support/deps.sh --if-missing $(DEPS_BUILD) jq
	@$(MAKE) --no-print-directory -s all
	@BUILD=$(abspath $(BUILD)) sh examples/demo
picture:
	@sh tests/support/deps.sh --if-missing $(DEPS_BUILD) tmux python3
	@$(MAKE) --no-print-directory all
	BUILD=$(abspath $(BUILD)) python3 tests/support/picture.py examples/live-view.svg
# Of the programs as they are installed.
bench:
	@sh tests/support/deps.sh --if-missing $(DEPS_BUILD) $(DEPS_TEST)
	@$(MAKE) --no-print-directory $(SUPPORT) $(BENCH)
	@$(MAKE) --no-print-directory -s install DESTDIR=$(abspath $(BUILD))/installed PREFIX=/usr
	BUILD=$(abspath $(BUILD)) sh tests/bench/run
fuzz:
	@sh tests/support/deps.sh --if-missing $(DEPS_BUILD) clang libclang-rt-dev
	BUILD=$(abspath $(BUILD)) sh tests/fuzz/run $(FUZZ_SRC)

DOCUMENTS = README.md INSTALL.md CHANGELOG.md $(wildcard doc/*.md)
# The manual, and what is in doc.
html:
	@sh tests/support/deps.sh --if-missing $(DEPS_HTML)
	python3 doc/pages.py $(BUILD)/html
install-html: html
	install -d "$(DESTDIR)$(DOCDIR)/html"
	install -m 644 $(BUILD)/html/*.html $(BUILD)/html/style.css "$(DESTDIR)$(DOCDIR)/html"

# What is static is asked once `all` has installed what is missing.
install: all
	$(if $(STATIC),@$(MAKE) --no-print-directory $(call installed,$(STARTED)))
	install -d "$(DESTDIR)$(BINDIR)" "$(DESTDIR)$(LIBEXECDIR)" "$(DESTDIR)$(DATADIR)/schemas" \
	  "$(DESTDIR)$(INCLUDEDIR)/awf" "$(DESTDIR)$(LIBDIR)/pkgconfig" \
	  $(foreach section,1 3 5 7,"$(DESTDIR)$(MANDIR)/man$(section)") \
	  "$(DESTDIR)$(BASHDIR)" "$(DESTDIR)$(ZSHDIR)" "$(DESTDIR)$(FISHDIR)"
	install -s --strip-program=$(STRIP) -m 755 $(call installed,$(BIN)) "$(DESTDIR)$(BINDIR)"
	install -s --strip-program=$(STRIP) -m 755 $(call installed,$(LIBEXEC) $(CLOCK)) "$(DESTDIR)$(LIBEXECDIR)"
	set -e; for f in $(call installed,$(OPTIONAL)); do [ ! -e "$$f" ] || \
	  install -s --strip-program=$(STRIP) -m 755 "$$f" "$(DESTDIR)$(LIBEXECDIR)"; done
	install -m 644 $(TOOL_FILES) "$(DESTDIR)$(LIBEXECDIR)"
	install -m 644 $(SCHEMAS) "$(DESTDIR)$(DATADIR)/schemas"
	install -m 644 $(LINE_SCHEMA) "$(DESTDIR)$(DATADIR)/schemas"
	install -m 644 include/awf/transcript.h "$(DESTDIR)$(INCLUDEDIR)/awf"
	install -m 644 $(SHARED) "$(DESTDIR)$(LIBDIR)"
	ln -sf $(SHARED_SONAME) "$(DESTDIR)$(LIBDIR)/$(SHARED_NAME)"
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|' \
	  -e 's|@VERSION@|$(VERSION)|' \
	  lib/shared/awf-transcript.pc.in >"$(DESTDIR)$(LIBDIR)/pkgconfig/awf-transcript.pc"
	chmod 644 "$(DESTDIR)$(LIBDIR)/pkgconfig/awf-transcript.pc"
	install -m 644 share/prices share/models "$(DESTDIR)$(DATADIR)"
	sed 's|@AWF_VERSION@|$(VERSION)|' share/openapi.json >"$(DESTDIR)$(DATADIR)/openapi.json"
	chmod 644 "$(DESTDIR)$(DATADIR)/openapi.json"
	set -e; for f in $$(cd share && find endpoints init www -type f); do \
	  mode=644; [ ! -x "share/$$f" ] || mode=755; \
	  install -D -m $$mode "share/$$f" "$(DESTDIR)$(DATADIR)/$$f"; done
	set -e; for f in $(DOCUMENTS) $$(find examples ! -type d); do \
	  mode=644; [ ! -x "$$f" ] || mode=755; \
	  if [ -L "$$f" ]; then install -d "$(DESTDIR)$(DOCDIR)/$${f%/*}"; cp -Pf "$$f" "$(DESTDIR)$(DOCDIR)/$$f"; \
	  else install -D -m $$mode "$$f" "$(DESTDIR)$(DOCDIR)/$$f"; fi; done
	for m in $(MAN); do install -m 644 $$m "$(DESTDIR)$(MANDIR)/man$${m##*.}"; done
	install -m 644 completions/*.bash "$(DESTDIR)$(BASHDIR)"
	install -m 644 completions/_* "$(DESTDIR)$(ZSHDIR)"
	install -m 644 completions/*.fish "$(DESTDIR)$(FISHDIR)"
# What install put there, and directories of AWF's own that are empty then: a site may keep
# agents and tools there.
remove = cd "$(1)" 2>/dev/null && rm -f $(2) || :
uninstall:
	$(call remove,$(DESTDIR)$(BINDIR),$(notdir $(BIN)))
	$(call remove,$(DESTDIR)$(LIBEXECDIR),$(notdir $(LIBEXEC) $(OPTIONAL) $(CLOCK) $(TOOL_FILES)))
	$(call remove,$(DESTDIR)$(INCLUDEDIR)/awf,transcript.h)
	$(call remove,$(DESTDIR)$(LIBDIR),$(notdir $(SHARED)) $(SHARED_NAME))
	$(call remove,$(DESTDIR)$(LIBDIR)/pkgconfig,awf-transcript.pc)
	$(call remove,$(DESTDIR)$(DATADIR)/schemas,transcript.schema.json $(notdir $(SCHEMAS)))
	$(call remove,$(DESTDIR)$(DATADIR),prices models openapi.json)
	$(call remove,$(DESTDIR)$(DATADIR),$(shell cd share && find endpoints init www -type f))
	find "$(DESTDIR)$(DATADIR)/endpoints" "$(DESTDIR)$(DATADIR)/init" "$(DESTDIR)$(DATADIR)/www" -depth -type d -empty -delete 2>/dev/null || :
	for d in "$(DESTDIR)$(DATADIR)/schemas" "$(DESTDIR)$(DATADIR)" "$(DESTDIR)$(LIBEXECDIR)" \
	  "$(DESTDIR)$(INCLUDEDIR)/awf"; do \
	  rmdir "$$d" 2>/dev/null || :; done
	$(call remove,$(DESTDIR)$(DOCDIR),$(DOCUMENTS) $(shell find examples ! -type d) \
	  $(patsubst doc/%.md,html/%.html,$(wildcard doc/*.md)) $(patsubst man/%,html/%.html,$(MAN)) html/style.css)
	find "$(DESTDIR)$(DOCDIR)" -depth -type d -empty -delete 2>/dev/null || :
	for m in $(notdir $(MAN)); do rm -f "$(DESTDIR)$(MANDIR)/man$${m##*.}/$$m"; done
	$(call remove,$(DESTDIR)$(BASHDIR),$(notdir $(wildcard completions/*.bash)))
	$(call remove,$(DESTDIR)$(ZSHDIR),$(notdir $(wildcard completions/_*)))
	$(call remove,$(DESTDIR)$(FISHDIR),$(notdir $(wildcard completions/*.fish)))
clean:
	rm -rf build
# What is given away.
include packaging/packaging.mk

.PHONY: all always packages deps rooms tests check torture check-clis check-mcp check-otlp check-schema check-invariants lint demo picture bench fuzz html install install-html uninstall clean
# Everything is kept. With .SECONDARY the object of a file that was moved would not be compiled: its source is older
# than the library.
.PRECIOUS: $(BUILD)/% $(BUILD)/obj/%.o $(BUILD)/gen/%
