# Isochron. `make help` lists the targets.
#
# Every flavour of the build has a folder of its own: build (release), build-asan, build-ubsan, build-tsan, build-clang,
# build-fuzz. A flavour is this same file, called again with BUILD, CC and SANITIZE.

ifeq ($(origin CC),default)
CC := gcc
endif
BUILD ?= build
SANITIZE ?=
OPTIMISE ?= -O2
WERROR ?= -Werror
JOBS ?= $(shell nproc)
CLANG := clang-14
Q := $(if $(filter 1,$(V)),,@)

CFLAGS_ALL := -std=c11 $(OPTIMISE) -g -Wall -Wextra $(WERROR) -Iinclude -Isrc -I. -I$(BUILD)/generated -MMD -MP -pthread \
              $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) $(CFLAGS)
LDFLAGS_ALL := -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)
LIBRARIES := -lrdkafka -lcurl -lzstd -llz4 -lsnappy -lmicrohttpd -lcadical -lstdc++ -lm
# librdkafka starts its threads by thrd_create, which gcc's thread sanitizer does not know: see there.
C11_THREADS = $(if $(filter thread,$(SANITIZE)),$(call objects,tests/threads/c11_threads.c))
# Sanitizers replace malloc themselves.
ALLOCATOR := $(if $(SANITIZE),,-ljemalloc)

LIBRARY_SOURCES := $(sort $(filter-out src/app/%,$(wildcard src/*/*.c)) $(wildcard connectors/*/*.c))
APP_SOURCES := $(sort $(wildcard src/app/*.c))
SUPPORT_SOURCES := $(sort $(wildcard tests/oracle/*.c) $(wildcard tests/support/*.c))
UNIT_SOURCES := $(sort $(wildcard tests/unit/*/test_*.c))
PROPERTY_SOURCES := $(sort $(wildcard tests/property/*.c))
FUZZ_SOURCES := $(sort $(wildcard tests/fuzz/*.c))

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIBRARY := $(BUILD)/libisochron.a
APP_LIBRARY := $(BUILD)/libapp.a
TEST_SUPPORT := $(BUILD)/libtestsupport.a
UNIT_PROGRAMS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(UNIT_SOURCES))
PROPERTY_PROGRAMS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(PROPERTY_SOURCES))
FUZZ_PROGRAMS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(FUZZ_SOURCES))
RECORDER := $(BUILD)/record-wiredtiger
BROKER := $(BUILD)/embedded-broker
POSTGRES_WORKLOAD := $(BUILD)/postgres-workload
WORKLOAD := $(BUILD)/polygraph-workload
DECODERS := $(BUILD)/decoders
JOINED := $(BUILD)/joined
SOAK_PRODUCER := $(BUILD)/soak-producer
SOAK_REPORT := $(BUILD)/soak-report

.DEFAULT_GOAL := all
.PHONY: all
all: $(BUILD)/isochron ## Build build/isochron: release, -O2 -g, with jemalloc

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

# The Protobuf schema of history topics, compiled: what tests compare the decoder with.
SCHEMA_CODE := $(BUILD)/generated/transaction.pb-c
$(SCHEMA_CODE).c $(SCHEMA_CODE).h &: deploy/schemas/transaction.proto
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=deploy/schemas --c_out=$(BUILD)/generated $<

$(BUILD)/obj/tests/unit/records/test_decoders.o $(BUILD)/obj/tests/unit/records/test_protobuf.o: $(SCHEMA_CODE).h

# The Avro schema as a string of C.
$(BUILD)/generated/transaction.avsc.h: deploy/schemas/transaction.avsc
	@mkdir -p $(@D)
	$(Q)sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $< > $@

$(BUILD)/obj/connectors/history/avro.o $(BUILD)/obj/tests/unit/records/test_decoders.o: $(BUILD)/generated/transaction.avsc.h

# The status page likewise.
$(BUILD)/generated/page.html.h: src/web/page.html
	@mkdir -p $(@D)
	$(Q)(echo 'static const char page_html[] ='; sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $<; echo ';') > $@

$(BUILD)/obj/src/web/answer.o: $(BUILD)/generated/page.html.h

# The frame of reports in HTML likewise.
$(BUILD)/generated/report.html.h: src/draw/report.html
	@mkdir -p $(@D)
	$(Q)(echo 'static const char report_html[] ='; sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $<; echo ';') > $@

$(BUILD)/obj/src/draw/page.o: $(BUILD)/generated/report.html.h

$(SCHEMA_CODE).o: $(SCHEMA_CODE).c
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

$(LIBRARY): $(call objects,$(LIBRARY_SOURCES))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(TEST_SUPPORT): $(call objects,$(SUPPORT_SOURCES))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# The program without its main, so that unit tests can link it.
$(APP_LIBRARY): $(call objects,$(filter-out src/app/main.c,$(APP_SOURCES)))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/isochron: $(call objects,src/app/main.c) $(C11_THREADS) $(APP_LIBRARY) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -o $@

$(UNIT_PROGRAMS) $(PROPERTY_PROGRAMS): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(SCHEMA_CODE).o $(C11_THREADS) $(TEST_SUPPORT) $(APP_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBRARIES) -lcmocka -ljansson -lavro -lprotobuf-c -o $@

$(FUZZ_PROGRAMS): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(TEST_SUPPORT) $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -fsanitize=fuzzer $^ $(LIBRARIES) -ljansson -o $@

# A broker without Java, for the demonstration.
$(BROKER): $(call objects,bench/embedded_broker.c) $(C11_THREADS) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -o $@

# Decoders by themselves, and a change stream from its messages to its verdicts.
$(DECODERS) $(JOINED): $(BUILD)/%: $(BUILD)/obj/bench/%.o $(TEST_SUPPORT) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -o $@

# A client that never stops, and what its run says.
$(SOAK_PRODUCER) $(SOAK_REPORT): $(BUILD)/soak-%: $(BUILD)/obj/bench/soak_%.o $(C11_THREADS) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -o $@

# Concurrent sessions on PostgreSQL, for its end-to-end tests.
$(BUILD)/obj/tests/postgres/%.o: CFLAGS_ALL += -I/usr/include/postgresql
$(POSTGRES_WORKLOAD): $(call objects,$(wildcard tests/postgres/*.c)) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBRARIES) -lpq -o $@

# Black-box workloads, judged in memory or written as files.
$(WORKLOAD): $(call objects,bench/polygraph_workload.c) $(TEST_SUPPORT) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -ljansson -o $@

# Not linked with the library: WiredTiger is GPL, and the recorder must share nothing with the checker.
STORES := $(BUILD)/spill-stores
$(STORES): $(call objects,bench/spill_stores.c) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -llmdb -lrocksdb -o $@

$(RECORDER): $(call objects,$(wildcard bench/wiredtiger/*.c))
	$(Q)$(CC) $(LDFLAGS_ALL) $^ -lwiredtiger -o $@

## The machine

.PHONY: deps demo bare
deps: ## Install the Debian packages that builds and tests need (deploy/debian-packages.txt)
	@deploy/install-packages.sh

demo: deps ## Watch a real store's transactions on Kafka, used well and misused: under a minute
	@$(MAKE) -s -j$(JOBS) all $(RECORDER) $(BROKER)
	@BUILD=$(BUILD) bench/demo.sh

bare: ## Prove `make demo` and `make test` in a minimal Debian 12 root (as root; TARGETS="demo test")
	@deploy/bare.sh $(TARGETS)

## Tests. A test is a program or a script that prints TAP; tests/run.sh runs and counts them.

# EFFORT=long gives property tests the arguments of tests/property/long.txt: their full number of histories. Sanitizers make
# each history 10 to 50 times dearer: they run those of tests/property/sanitized.txt.
EFFORT ?= short
FLAVOUR ?= check
# DO=test-programs builds a flavour and runs nothing.
DO ?= check
RESULTS ?= build/results
SCRIPTS := $(sort $(wildcard tests/test_*.sh) $(wildcard tests/*/test_*.sh))
# What looks at the sources or at documents, installs, packs, or records with WiredTiger, which no sanitizer knows, runs once and not in every flavour.
ifneq ($(BUILD),build)
SCRIPTS := $(filter-out tests/test_%.sh tests/includes/% tests/threads/% tests/wiredtiger/% tests/recorder/% tests/documents/% tests/readme/% tests/deploy/%,$(SCRIPTS))
endif
# What packs and installs, or fails and dies at every place, takes its time: with the long runs, under one sanitizer, or when it is
# asked for.
ifeq ($(filter build-asan,$(BUILD))$(filter long,$(EFFORT))$(T),)
SCRIPTS := $(filter-out tests/deploy/% tests/world/% tests/durable/%,$(SCRIPTS))
endif
# What clang compiles runs whole under its sanitizer; without one, the unit tests do.
ifeq ($(BUILD)$(T),build-clang)
SCRIPTS :=
PROPERTY_PROGRAMS :=
endif
# Where there are no threads the thread sanitizer has nothing to say.
ifeq ($(SANITIZE)$(T),thread)
WITHOUT_THREADS := $(shell awk 'NF == 1' tests/threads/without.txt)
SCRIPTS := $(filter-out $(WITHOUT_THREADS:%=tests/%),$(SCRIPTS))
PROPERTY_PROGRAMS := $(filter-out $(WITHOUT_THREADS:%=$(BUILD)/tests/%),$(PROPERTY_PROGRAMS))
UNIT_PROGRAMS := $(filter-out $(WITHOUT_THREADS:%=$(BUILD)/tests/%),$(UNIT_PROGRAMS))
endif
named = $(if $(T),$(foreach test,$(1),$(if $(findstring $(T),$(subst test_,,$(test))),$(test))),$(1))
TESTS := $(strip $(call named,$(SCRIPTS) $(PROPERTY_PROGRAMS) $(UNIT_PROGRAMS)))

.PHONY: check test-programs test asan ubsan tsan clang oracle
test-programs: $(BUILD)/isochron $(RECORDER) $(BROKER) $(filter $(BUILD)/%,$(TESTS))

check: ## Unit, property, command line and include tests, in under two minutes; T=module/name runs some
	@$(MAKE) -s -j$(JOBS) test-programs
	@$(if $(TESTS),,echo "make check: no test is named like T=$(T)" >&2; exit 2;) \
	 BUILD=$(BUILD) ISOCHRON=$(CURDIR)/$(BUILD)/isochron \
	 ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1:suppressions=$(CURDIR)/tests/threads/suppressions.txt \
	 tests/run.sh --name $(FLAVOUR) --results $(RESULTS) --limit $(if $(filter long,$(EFFORT)),1800,600) \
	 $(if $(filter long,$(EFFORT)),--arguments tests/property/long.txt,$(if $(SANITIZE),--arguments tests/property/sanitized.txt)) $(TESTS)

test: deps ## Everything: all flavours, long property runs, corpus, fuzz smoke; last line "N passed, N failed"
	@MAKE="$(MAKE)" RESULTS=$(RESULTS) tests/test.sh

asan: ## The tests under gcc's address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory $(DO) FLAVOUR=asan BUILD=build-asan SANITIZE=address,undefined

ubsan: ## The tests under clang-14's undefined-behaviour sanitizer
	@$(MAKE) --no-print-directory $(DO) FLAVOUR=ubsan BUILD=build-ubsan CC=$(CLANG) SANITIZE=undefined

tsan: ## The tests that start threads under gcc's thread sanitizer
	@$(MAKE) --no-print-directory $(DO) FLAVOUR=tsan BUILD=build-tsan SANITIZE=thread

clang: ## The unit tests as clang-14 builds them, warnings as errors
	@$(MAKE) --no-print-directory $(DO) FLAVOUR=clang BUILD=build-clang CC=$(CLANG)

oracle: ## The engines against the definitions on all the random histories of the long run
	@$(MAKE) --no-print-directory check FLAVOUR=oracle T=property/ EFFORT=long

## Fuzzing: tests/fuzz/NAME.c, seeds in tests/fuzz/seeds/NAME

FUZZ_FLAVOUR := BUILD=build-fuzz CC=$(CLANG) SANITIZE=address,undefined,fuzzer-no-link
SECONDS ?= 60

.PHONY: kafka
kafka: ## End-to-end tests on a real Kafka broker (Maven Central, kept in the user's cache)
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@ISOCHRON=$(CURDIR)/$(BUILD)/isochron tests/run.sh --name kafka --results $(RESULTS) --limit 900 --jobs 1 tests/kafka/end_to_end.sh tests/kafka/crash.sh

.PHONY: databases
databases: ## End-to-end tests on real PostgreSQL and MariaDB with Debezium (Maven Central, kept in the user's cache)
	@$(MAKE) --no-print-directory -j$(JOBS) all $(POSTGRES_WORKLOAD)
	@ISOCHRON=$(CURDIR)/$(BUILD)/isochron WORKLOAD=$(CURDIR)/$(POSTGRES_WORKLOAD) \
	 tests/run.sh --name databases --results $(RESULTS) --limit 900 --jobs 1 tests/postgres/end_to_end.sh tests/mariadb/end_to_end.sh

.PHONY: crash
crash: ## Kill `watch --state` at every point, early and late, and at 1,000 random times, also on a real broker: an hour
	@$(MAKE) --no-print-directory -j$(JOBS) all $(BROKER)
	@CRASHES=all ISOCHRON=$(CURDIR)/$(BUILD)/isochron tests/run.sh --name crash --results $(RESULTS) --limit 7200 tests/durable/test_crash.sh tests/durable/test_spill.sh tests/durable/test_changes.sh tests/kafka/crash.sh

.PHONY: soak
soak: ## watch for SOAK_SECONDS (1800) at half of its peak rate: memory, disk, lag, delay as table and plot; passes if memory grows by under 1%/h for certain
	@$(MAKE) --no-print-directory -j$(JOBS) all $(BROKER) $(SOAK_PRODUCER) $(SOAK_REPORT)
	@BUILD=$(BUILD) bench/soak.sh

.PHONY: browser
browser: ## Pages of reports and the status page in headless Chromium: layout, console, both themes
	@$(MAKE) --no-print-directory -j$(JOBS) all $(BROKER)
	@ISOCHRON=$(CURDIR)/$(BUILD)/isochron tests/run.sh --name browser --results $(RESULTS) --limit 600 --jobs 1 tests/browser/end_to_end.sh

.PHONY: fuzz fuzz-programs fuzz-build fuzz-smoke
fuzz-programs: $(FUZZ_PROGRAMS)

fuzz: ## Fuzz tests/fuzz/$F.c for SECONDS (60): make fuzz F=json
	@test -f tests/fuzz/$(F).c || { echo "make fuzz: F is one of $(basename $(notdir $(FUZZ_SOURCES)))" >&2; exit 2; }
	@$(MAKE) -s -j$(JOBS) $(FUZZ_FLAVOUR) build-fuzz/tests/fuzz/$(F)
	@tests/fuzz/run.sh $(F) $(SECONDS)

fuzz-build:
	@$(MAKE) -s -j$(JOBS) $(FUZZ_FLAVOUR) fuzz-programs

fuzz-smoke: fuzz-build ## Each fuzz target for a few seconds over its seeds
	@tests/run.sh --name fuzz --results $(RESULTS) --limit 300 --jobs 1 tests/fuzz/smoke.sh

## Measuring and tidying

.PHONY: bench bench-polygraph format format-check clean help
bench: ## Speed and memory: offline as ratios to md5sum in one run, online alone and from a broker; needs deps
	@$(MAKE) -s -j$(JOBS) all
	@BUILD=$(BUILD) bench/run.sh
	@BUILD=$(BUILD) bench/online.sh
	@$(MAKE) -s $(WORKLOAD) $(DECODERS) $(JOINED)
	@BUILD=$(BUILD) bench/polygraph.sh
	@BUILD=$(BUILD) bench/decoders.sh

bench-polygraph: ## Black-box checking: speed, growth, what each step is worth, in build/bench/polygraph.md; ONLY=growth
	@$(MAKE) -s -j$(JOBS) all $(WORKLOAD)
	@BUILD=$(BUILD) bench/polygraph.sh $(ONLY)

.PHONY: bench-stores
bench-stores: $(STORES) ## The store of cold keys beside LMDB and RocksDB (3M keys; some minutes); needs deps
	@for store in log lmdb rocksdb; do \
		folder=$$(mktemp -d) && $(STORES) $$store $$folder 3000000 60; rm -rf $$folder; done

FORMATTED = $(shell find include src connectors tests bench -name '*.[ch]')
format: ## Format the sources with clang-format-14
	@clang-format-14 -i $(FORMATTED)

format-check: ## Say which sources are not formatted
	@clang-format-14 --dry-run --Werror $(FORMATTED)

# What the program's own option tables say, as a man page, as completion in shells, as docs/options.md.
COMPLETIONS := $(patsubst %,$(BUILD)/completion.%,bash zsh fish)
$(BUILD)/isochron.1: $(BUILD)/isochron
	$(Q)$< document man >$@

$(COMPLETIONS): $(BUILD)/completion.%: $(BUILD)/isochron
	$(Q)$< completion $* >$@

.PHONY: documents
documents: $(BUILD)/isochron.1 $(COMPLETIONS) ## Make the man page, completions and docs/options.md from the option tables
	$(Q)$(BUILD)/isochron document markdown >docs/options.md

PREFIX ?= /usr/local
SHARE = $(DESTDIR)$(PREFIX)/share
.PHONY: install install-program
install-program: $(BUILD)/isochron $(BUILD)/isochron.1 $(COMPLETIONS)
	@install -D $(BUILD)/isochron $(DESTDIR)$(PREFIX)/bin/isochron
	@install -D -m 644 $(BUILD)/isochron.1 $(SHARE)/man/man1/isochron.1
	@install -D -m 644 $(BUILD)/completion.bash $(SHARE)/bash-completion/completions/isochron
	@install -D -m 644 $(BUILD)/completion.zsh $(SHARE)/zsh/vendor-completions/_isochron
	@install -D -m 644 $(BUILD)/completion.fish $(SHARE)/fish/vendor_completions.d/isochron.fish

install: all install-program ## Install program, man page, completions, library and headers under PREFIX (/usr/local)
	@install -D -m 644 $(LIBRARY) $(DESTDIR)$(PREFIX)/lib/libisochron.a
	@install -d $(DESTDIR)$(PREFIX)/include/iso
	@install -m 644 include/iso/*.h $(DESTDIR)$(PREFIX)/include/iso

.PHONY: deb
deb: all ## Build build/isochron_VERSION_ARCHITECTURE.deb: program, man page, completions, systemd unit, examples
	@deploy/debian/build.sh $(BUILD)

clean: ## Remove everything that was built
	rm -rf build build-*

help: ## List the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "  make %-13s %s\n", $$1, $$2}'

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
