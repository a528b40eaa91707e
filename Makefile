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
# Lines and functions, for backtraces and profiles; make SYMBOLS=-g for a debugger: a sixth of the time more.
SYMBOLS ?= -g1
WERROR ?= -Werror
JOBS ?= $(shell nproc)
# `make` alone builds on all processors, too; -j says otherwise.
ifeq ($(filter-out all,$(MAKECMDGOALS))$(MAKELEVEL)$(filter -j% --jobserver%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(JOBS)
endif
CLANG := clang-14
Q := $(if $(filter 1,$(V)),,@)

# What compiler and linker do against a bug that is still there (tests/test_hardening.sh looks). Sanitizers watch those calls
# themselves that _FORTIFY_SOURCE replaces; -fcf-protection is for x86 only.
HARDENED := -fPIE -fstack-protector-strong -fstack-clash-protection $(if $(filter x86_64 i686,$(shell uname -m)),-fcf-protection) \
            $(if $(SANITIZE),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
# Long-lived structures look after each step whether they are whole (`*_validate`): under sanitizers, and wherever property programs run.
VALIDATING := -DISO_VALIDATE
# What only tests may do to a program (base/fault.h): under sanitizers, and in a program of its own beside the one that people get.
FAULTS := -DISO_FAULTS
# What became of each transaction, on stderr (base/log.h): make LOG=1 BUILD=build-log
LOGGING := $(if $(filter 1,$(LOG)),-DISO_LOGGING)
CFLAGS_ALL := -std=c11 $(OPTIMISE) $(SYMBOLS) -Wall -Wextra $(WERROR) $(HARDENED) -Iinclude $(addprefix -I,$(wildcard src/*)) -I. -I$(BUILD)/generated -MMD -MP -pthread \
              $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer $(VALIDATING) $(FAULTS)) $(LOGGING) $(CFLAGS)
LDFLAGS_ALL := -pthread -pie -Wl,-z,relro,-z,now,-z,noexecstack $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)
# libcurl and libmicrohttpd are loaded when a run needs them (base/shared_library.h).
# libpg_query has no package of its shared library alone (src/programs/sql).
LIBRARIES := -lrdkafka -lzstd -llz4 -lsnappy -lcadical -lstdc++ -l:libpg_query.a -l:libprotobuf-c.a -lssl -lcrypto -lm
# librdkafka starts its threads by thrd_create, which gcc's thread sanitizer does not know: see there.
C11_THREADS = $(if $(filter thread,$(SANITIZE)),$(call objects,tests/support/threads/c11_threads.c))
# Sanitizers replace malloc themselves.
ALLOCATOR := $(if $(SANITIZE),,-ljemalloc)

# The table of rooms says which are part of what (docs/modules.md): of a program, or of the libraries for others; a room's sources.
rooms = $(shell awk -F'|' '$$6 ~ /$(1)/ && $$2 !~ /module/ { print $$2 }' docs/modules.md)
sources = $(sort $(foreach room,$(1),$(wildcard src/*/$(room)/*.c src/*/$(room)/*/*.c)))
APP_SOURCES := $(call sources,$(call rooms,program))
LIBRARY_SOURCES := $(filter-out $(APP_SOURCES),$(call sources,*) $(sort $(wildcard connectors/*/*.c)))
SUPPORT_SOURCES := $(sort $(wildcard tests/oracle/*.c) $(wildcard tests/support/*.c))
UNIT_SOURCES := $(sort $(wildcard tests/unit/*/test_*.c))
PROPERTY_SOURCES := $(sort $(wildcard tests/property/*.c))
FUZZ_SOURCES := $(sort $(wildcard tests/fuzz/*.c))

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIBRARY := $(BUILD)/libisochron.a
# Sanitized builds validate as they are.
VALIDATING_LIBRARY := $(if $(SANITIZE),$(LIBRARY),$(BUILD)/validating.a)
APP_LIBRARY := $(BUILD)/libapp.a
TEST_SUPPORT := $(BUILD)/libtestsupport.a
UNIT := $(BUILD)/unit
PROPERTY_PROGRAMS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(PROPERTY_SOURCES))
FUZZ_PROGRAMS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(FUZZ_SOURCES))
GROWTH := $(BUILD)/tests/property/growth
FAULTY := $(if $(SANITIZE),$(BUILD)/isochron,$(BUILD)/tests/isochron)
RECORDER := $(BUILD)/record-wiredtiger
BROKER := $(BUILD)/embedded-broker
POSTGRES_WORKLOAD := $(BUILD)/postgres-workload
WORKLOAD := $(BUILD)/polygraph-workload
ABLATION := $(BUILD)/polygraph-ablation
DECODERS := $(BUILD)/decoders
JOINED := $(BUILD)/joined
ROW_STREAM := $(BUILD)/row_stream
FORWARDER := $(BUILD)/forwarder
SOAK_PRODUCER := $(BUILD)/soak-producer
SOAK_REPORT := $(BUILD)/soak-report

.DEFAULT_GOAL := all
.PHONY: all
all: $(BUILD)/isochron $(BUILD)/isochron-proxy ## Build build/isochron and build/isochron-proxy: release, -O2, with jemalloc

# Texts that sources include as strings; what includes them says its .d file, once it was compiled.
GENERATED := $(addprefix $(BUILD)/generated/,transaction.avsc.h page.html.h page.html.policy.h report.html.h catalog.sql.h)
# What runs once a command, or waits for a solver, is compiled in half the time.
ifeq ($(OPTIMISE)$(SANITIZE),-O2)
COLD_FOLDERS := $(addprefix src/,command presentation programs lab streams/run streams/state foundation/store engines/judge \
    $(addprefix recording/,doctor probe database pg_watermark)) connectors/registry
$(addsuffix /%,$(addprefix $(BUILD)/obj/,$(COLD_FOLDERS))): COLD := -O1 $(CFLAGS)
endif
$(BUILD)/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(COLD) -c $< -o $@

$(BUILD)/obj-validating/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(VALIDATING) -c $< -o $@

# The Protobuf schema of history topics, compiled: what tests compare the decoder with.
SCHEMA_CODE := $(BUILD)/generated/transaction.pb-c
$(SCHEMA_CODE).c $(SCHEMA_CODE).h &: deploy/schemas/transaction.proto
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=deploy/schemas --c_out=$(BUILD)/generated $<

$(BUILD)/obj-unit/records/test_decoders.o $(BUILD)/obj-unit/records/test_protobuf.o: $(SCHEMA_CODE).h

# The Avro schema as a string of C.
$(BUILD)/generated/transaction.avsc.h: deploy/schemas/transaction.avsc
	@mkdir -p $(@D)
	$(Q)sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $< > $@

# Queries of the catalog, each a macro that is a string.
$(BUILD)/generated/catalog.sql.h: src/recording/observe/catalog.sql
	@mkdir -p $(@D)
	$(Q)(sed -e '/^--/d; /^$$/d' -e 's/^== \(.*\)/\n#define CATALOG_SQL_\1 \\/; t' \
	    -e 's/["\]/\\&/g; s/{\([A-Z_]*\)}/" CATALOG_SQL_\1 "/g; s/^ *\(.*\)/    "\1 " \\/' $<; echo) > $@

# The status page likewise.
$(BUILD)/generated/page.html.h: src/presentation/web/page.html
	@mkdir -p $(@D)
	$(Q)(echo 'static const char page_html[] ='; sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $<; echo ';') > $@

# What the page's own script and style are, by their SHA-256: a browser runs no other.
hash_of = sed -n '/^<$(1)>$$/,/^<\/$(1)>$$/p' $< | sed '1s/.*//; $$d' | \
          sha256sum | cut -c1-64 | tr a-f A-F | basenc --base16 -d | base64
$(BUILD)/generated/page.html.policy.h: src/presentation/web/page.html
	@mkdir -p $(@D)
	$(Q)printf '#define PAGE_HTML_SCRIPT "'"'sha256-%s'"'"\n#define PAGE_HTML_STYLE "'"'sha256-%s'"'"\n' \
	    "$$($(call hash_of,script))" "$$($(call hash_of,style))" > $@

# The frame of reports in HTML likewise, with its script's hash in its policy; pictures bring styles of their own.
$(BUILD)/generated/report.html.h: src/presentation/draw/report.html
	@mkdir -p $(@D)
	$(Q)(echo 'static const char report_html[] ='; \
	    sed "s|sha256-SCRIPT|sha256-$$($(call hash_of,script))|; "'s/["\\]/\\&/g; s/.*/"&\\n"/' $<; echo ';') > $@

$(SCHEMA_CODE).o: $(SCHEMA_CODE).c
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

$(LIBRARY): $(call objects,$(LIBRARY_SOURCES))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/validating.a: $(patsubst %.c,$(BUILD)/obj-validating/%.o,$(LIBRARY_SOURCES))
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(TEST_SUPPORT): $(call objects,$(SUPPORT_SOURCES))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# The programs without their mains, so that unit tests can link them.
MAINS := src/command/app/main.c src/recording/proxy/main.c
$(APP_LIBRARY): $(call objects,$(filter-out $(MAINS),$(APP_SOURCES)))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/isochron: $(call objects,src/command/app/main.c) $(C11_THREADS) $(APP_LIBRARY) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -o $@

$(BUILD)/isochron-proxy: $(call objects,src/recording/proxy/main.c) $(C11_THREADS) $(APP_LIBRARY) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -o $@

# The program with crash points: those few sources once more, before the archives that have them without.
FAULT_OBJECTS := $(patsubst %.c,$(BUILD)/obj-faults/%.o,$(shell grep -rl --include='*.c' 'base/fault.h"' src))
$(FAULT_OBJECTS): $(BUILD)/obj-faults/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(FAULTS) -c $< -o $@

$(BUILD)/tests/isochron: $(call objects,src/command/app/main.c) $(FAULT_OBJECTS) $(APP_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -o $@

# All files of unit tests are one program (tests/unit/unit.c): the main of each gets its file's name.
unit_main = unit_$(subst /,_,$(1:tests/unit/%.c=%))
UNIT_OBJECTS := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/obj-unit/%.o)
$(BUILD)/obj-unit/%.o: tests/unit/%.c | $(GENERATED)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -Dmain=$(call unit_main,$<) -c $< -o $@

UNIT_FILES := $(BUILD)/generated/unit_files
.PHONY: always
$(UNIT_FILES).c: always
	@mkdir -p $(@D)
	@(echo '#include "tests/unit/unit.h"'; \
	$(foreach source,$(UNIT_SOURCES),echo 'int $(call unit_main,$(source))(void);';) \
	echo 'const struct unit_file unit_files[] = {'; \
	$(foreach source,$(UNIT_SOURCES),echo '    {"$(subst test_,,$(source:tests/unit/%.c=%))", $(call unit_main,$(source))},';) \
	echo '};'; echo 'const uint32_t unit_file_count = $(words $(UNIT_SOURCES));') >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(UNIT_FILES).o: $(UNIT_FILES).c
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

TEST_LIBRARIES := $(LIBRARIES) -lcmocka -ljansson -lavro -lprotobuf-c
TEST_OBJECTS = $(SCHEMA_CODE).o $(C11_THREADS) $(TEST_SUPPORT) $(APP_LIBRARY)
$(UNIT): $(UNIT_OBJECTS) $(call objects,$(wildcard tests/unit/*.c)) $(UNIT_FILES).o $(TEST_OBJECTS) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) -Wl,--wrap=_cmocka_run_group_tests $^ $(TEST_LIBRARIES) -o $@

$(filter-out $(GROWTH),$(PROPERTY_PROGRAMS)): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(TEST_OBJECTS) $(VALIDATING_LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(TEST_LIBRARIES) -o $@

# Conditions are compared with SQLite's answers, and PostgreSQL's.
CONDITIONS := $(BUILD)/tests/property/predicate_sql
$(CONDITIONS): TEST_LIBRARIES += -lsqlite3

# What engines do, counted: their sources once more, every basic block of which makes a call. See tests/property/growth.c.
COUNTED_SOURCES := $(call sources,base history verdict solver problem polygraph verify chronos)
COUNTED := $(patsubst %.c,$(BUILD)/counted/%.o,$(COUNTED_SOURCES))
COUNTED_CALLS := memcpy memmove memset memcmp iso_allocate iso_allocate_zeroed iso_reallocate iso_column_grow iso_column_zeroed
$(COUNTED): $(BUILD)/counted/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -U_FORTIFY_SOURCE -UISO_VALIDATE -fsanitize-coverage=trace-pc -c $< -o $@

$(GROWTH): $(call objects,tests/property/growth.c) $(COUNTED) $(TEST_SUPPORT) $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $(COUNTED_CALLS:%=-Wl,--wrap=%) $^ $(LIBRARIES) -o $@

$(FUZZ_PROGRAMS): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(TEST_SUPPORT) $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -fsanitize=fuzzer $^ $(LIBRARIES) -ljansson -o $@

# A broker without Java, for the demonstration.
$(BROKER): $(call objects,bench/embedded_broker.c) $(C11_THREADS) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -o $@

# Decoders by themselves, and a change stream from its messages to its verdicts.
$(DECODERS) $(JOINED) $(ROW_STREAM): $(BUILD)/%: $(BUILD)/obj/bench/%.o $(TEST_SUPPORT) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -o $@

# What isochron-proxy is compared with.
$(FORWARDER): $(call objects,bench/forwarder.c)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ -o $@

# A client that never stops, and what its run says.
$(SOAK_PRODUCER) $(SOAK_REPORT): $(BUILD)/soak-%: $(BUILD)/obj/bench/soak_%.o $(C11_THREADS) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -o $@

# Concurrent sessions on PostgreSQL, for its end-to-end tests.
$(BUILD)/obj/tests/system/postgres/%.o: CFLAGS_ALL += -I/usr/include/postgresql
$(POSTGRES_WORKLOAD): $(call objects,$(wildcard tests/system/postgres/*.c)) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBRARIES) -lpq -o $@

# Black-box workloads, judged in memory or written as files.
$(WORKLOAD): $(call objects,bench/polygraph_workload.c) $(TEST_SUPPORT) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -ljansson -o $@

# What each of polygraph's ways to find an order is worth.
$(ABLATION): $(call objects,bench/ablation.c) $(TEST_SUPPORT) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -ljansson -o $@

# Not linked with the library: WiredTiger is GPL, and the recorder must share nothing with the checker.
STORES := $(BUILD)/spill-stores
$(STORES): $(call objects,bench/spill_stores.c) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -llmdb -lrocksdb -o $@

$(RECORDER): $(call objects,$(wildcard bench/wiredtiger/*.c))
	$(Q)$(CC) $(LDFLAGS_ALL) $^ -lwiredtiger -o $@

## The machine

.PHONY: deps demo demo-programs bare
deps: ## Install the Debian packages that builds and tests need (deploy/debian-packages.txt)
	@deploy/install-packages.sh

# Where nothing was built yet the demonstration has a build of its own, which takes half the time: less is optimised, and nothing
# is there for a debugger.
DEMO := $(if $(wildcard $(BUILD)/isochron),BUILD=$(BUILD),BUILD=build-demo OPTIMISE=-O1 SYMBOLS= WERROR=-w)
demo: ## Watch a real store's transactions on Kafka, used well and misused: under a minute
	@deploy/install-packages.sh build demo
	@$(MAKE) -s -j$(JOBS) $(DEMO) demo-programs
	@$(word 1,$(DEMO)) bench/demo.sh

demo-programs: $(BUILD)/isochron $(RECORDER) $(BROKER)

bare: ## Prove `make demo` and `make test` in a minimal Debian 12 root (as root; TARGETS="demo test")
	@mkdir -p $(RESULTS)
	@RESULTS=$(RESULTS) deploy/bare.sh $(TARGETS)

## Tests. A test is a program or a script that prints TAP; tests/run.sh runs and counts them.

# What runs where is in tests/programs.txt. BOX: quick, check, test, nightly, each with what is in those before it. EFFORT: how many
# random histories: short, medium, long; sanitizers make each 10 to 50 times dearer, and have short ones always. NEEDS: tests with a target of their own. T: those with that in their names, of any box.
FLAVOUR ?= release
NAME ?= $(FLAVOUR)
BOX ?= check
EFFORT ?= short
# DO=test-programs builds a flavour and runs nothing.
DO ?= check
RESULTS ?= build/results
LIMIT ?= 600
select = BUILD=$(BUILD) tests/select.sh $(FLAVOUR) $(BOX) $(EFFORT) '$(NEEDS)' '$(T)'

.PHONY: quick check test-programs run-selected compile test nightly asan ubsan tsan clang oracle
quick: ## Build, unit tests, include rules, format of what changed: under half a minute
	@$(MAKE) -s -j$(JOBS) all $(UNIT)
	@$(MAKE) -s run-selected BOX=quick

check: test-programs ## Unit, property, command line and include tests on few random histories: 90 s once built; T=module/name runs some
	@$(MAKE) -s run-selected

test-programs:
	@$(MAKE) -s -j$(JOBS) $(BUILD)/isochron $(RECORDER) $(BROKER) $(foreach word,$(shell $(select)),$(filter $(BUILD)/%,$(word)) $(if $(filter tests/system/library/%,$(word)),lib) \
	    $(if $(filter tests/system/durable/% tests/system/world/%,$(word)),$(FAULTY)))

run-selected:
	@$(select) >$(BUILD)/selected; [ -s $(BUILD)/selected ] || { echo "make: no test is named like T=$(T)" >&2; exit 2; }; \
	 EFFORT=$(EFFORT) BUILD=$(BUILD) ISOCHRON=$(CURDIR)/$(BUILD)/isochron FAULTY=$(CURDIR)/$(FAULTY) WORKLOAD=$(CURDIR)/$(POSTGRES_WORKLOAD) \
	 ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1:suppressions=$(CURDIR)/tests/support/threads/suppressions.txt \
	 tests/run.sh --name $(NAME) --results $(RESULTS) --limit $(LIMIT) $(if $(NEEDS),--jobs 1) --list <$(BUILD)/selected

compile: test-programs ## Only build what `check` runs: one result
	@mkdir -p $(RESULTS) && echo "1 0" >$(RESULTS)/$(FLAVOUR).count

test: deps ## What judges a commit: all tests, under sanitizers too, on a broker and a database; last line "N passed, N failed"
	@MAKE="$(MAKE)" RESULTS=$(RESULTS) tests/test.sh

nightly: deps ## All that takes long, from fresh seeds: full counts, all databases, browsers, kills, fuzzing; SEED=S repeats one
	@MAKE="$(MAKE)" RESULTS=$(RESULTS) tests/nightly.sh

asan: ## The tests under gcc's address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory $(DO) FLAVOUR=asan BUILD=build-asan SANITIZE=address,undefined

ubsan: ## The tests under clang-14's undefined-behaviour sanitizer
	@$(MAKE) --no-print-directory $(DO) FLAVOUR=ubsan BUILD=build-ubsan CC=$(CLANG) SANITIZE=undefined

tsan: ## The tests that start threads under gcc's thread sanitizer
	@$(MAKE) --no-print-directory $(DO) FLAVOUR=tsan BUILD=build-tsan SANITIZE=thread

clang: ## The unit tests as clang-14 builds them, warnings as errors
	@$(MAKE) --no-print-directory $(DO) FLAVOUR=clang BUILD=build-clang CC=$(CLANG)

oracle: ## The engines against the definitions on all the random histories of the long run
	@$(MAKE) --no-print-directory check T=property/ EFFORT=long LIMIT=1800

# What is installed, started and waited for; each of these runs what needs it, one after the other.
run_needing = $(MAKE) --no-print-directory run-selected NEEDS="$1" NAME=$@ BOX=nightly LIMIT=900 $2

.PHONY: kafka databases postgres browser operate hostile failover crash soak
kafka: all $(FAULTY) ## End-to-end tests on a real Kafka broker (Maven Central, kept in the user's cache)
	@$(call run_needing,kafka)

databases: all $(BROKER) $(POSTGRES_WORKLOAD) $(CONDITIONS) ## End-to-end tests on real PostgreSQL and MariaDB with Debezium (Maven Central, kept in the user's cache)
	@$(call run_needing,postgres mariadb)

postgres: all $(BROKER) $(POSTGRES_WORKLOAD) $(CONDITIONS) ## A short end-to-end run on real PostgreSQL with Debezium and Kafka
	@$(call run_needing,postgres,BOX=test)

browser: all $(BROKER) ## Pages of reports and the status page in headless Chromium: layout, console, both themes
	@$(call run_needing,browser)

operate: all $(BROKER) ## What goes wrong in a run, as the person on call sees it: the page, metrics, alerts of a real Prometheus
	@$(call run_needing,operate)

hostile: all ## Clumsy and hostile producers at sizes at which the square of anything is hours: some minutes
	@$(call run_needing,hostile,LIMIT=3600)

failover: all ## The application on MariaDB, long: servers, connector and checker are killed and a replica takes over, while it runs
	@$(call run_needing,mariadb,T=mariadb/application EFFORT=long)

crash: all $(FAULTY) $(BROKER) ## Kill `watch --state` at every point, early and late, and at 1,000 random times, also on a real broker: an hour
	@CRASHES=all FAULTY=$(CURDIR)/$(FAULTY) tests/run.sh --name crash --results $(RESULTS) --limit 7200 \
	 tests/system/durable/test_crash.sh tests/system/durable/test_spill.sh tests/system/durable/test_changes.sh tests/system/kafka/crash.sh

soak: all $(BROKER) $(SOAK_PRODUCER) $(SOAK_REPORT) ## watch for SOAK_SECONDS (1800) at half of its peak rate: memory, disk, lag, delay as table and plot; passes if memory grows by under 1%/h for certain
	@BUILD=$(BUILD) bench/soak.sh

## Fuzzing: tests/fuzz/NAME.c, seeds in tests/fuzz/seeds/NAME

FUZZ_FLAVOUR := BUILD=build-fuzz CC=$(CLANG) SANITIZE=address,undefined,fuzzer-no-link
SECONDS ?= 60

MUTANTS ?= 300
.PHONY: mutants
mutants: ## Plant MUTANTS (300) small faults in engines, join, pipeline and verify, one at a time: tests find 95 of 100; SEED=S repeats them
	@tests/run.sh --name mutants --results $(RESULTS) --limit 43200 --jobs 1 "tests/support/mutants/mutants.py --count $(MUTANTS)"

.PHONY: fuzz fuzz-programs fuzz-build fuzz-smoke
fuzz-programs: $(FUZZ_PROGRAMS)

fuzz: ## Fuzz tests/fuzz/$F.c for SECONDS (60): make fuzz F=json
	@test -f tests/fuzz/$(F).c || { echo "make fuzz: F is one of $(basename $(notdir $(FUZZ_SOURCES)))" >&2; exit 2; }
	@$(MAKE) -s -j$(JOBS) $(FUZZ_FLAVOUR) build-fuzz/tests/fuzz/$(F)
	@tests/fuzz/run.sh $(F) $(SECONDS)

fuzz-build:
	@$(MAKE) -s -j$(JOBS) $(FUZZ_FLAVOUR) fuzz-programs

fuzz-smoke: fuzz-build ## Each fuzz target for a few seconds over its seeds
	@tests/run.sh --name fuzz --results $(RESULTS) --limit 7200 --jobs 1 tests/fuzz/smoke.sh

## Measuring and tidying

.PHONY: bench bench-ablation bench-polygraph figures format format-check clean help
bench: ## Speed and memory: offline as ratios to md5sum in one run, online alone and from a broker; needs deps
	@$(MAKE) -s -j$(JOBS) all
	@BUILD=$(BUILD) bench/run.sh
	@$(MAKE) -s $(ROW_STREAM)
	@BUILD=$(BUILD) bench/queries.sh
	@BUILD=$(BUILD) bench/online.sh
	@$(MAKE) -s $(WORKLOAD) $(DECODERS) $(JOINED)
	@BUILD=$(BUILD) bench/polygraph.sh
	@BUILD=$(BUILD) bench/decoders.sh

# The tree as it was at a commit (the last release, or what stands for it), beside the tree as it is.
BEFORE ?= 218645e
figures: ## Figures of the sources at commit BEFORE and now: lines, structs, circles, assertions, repeats; in build/bench/figures.md
	@rm -rf $(BUILD)/bench/before && mkdir -p $(BUILD)/bench/before
	@git archive $(BEFORE) include src connectors tests bench | tar -x -C $(BUILD)/bench/before
	@bench/figures.py before=$(BUILD)/bench/before now=. >$(BUILD)/bench/figures.md
	@rm -rf $(BUILD)/bench/before
	@cat $(BUILD)/bench/figures.md

.PHONY: ways
ways: all $(BROKER) ## How many functions the four ways of ARCHITECTURE.md have, in a build that notes its stacks; needs deps
	@bench/ways.py $(BUILD)/ways

# The histories of both tables of ../shared/corpus, if it is there, and those of few values, which no table has.
CORPUS ?= ../shared/corpus
bench-ablation: FILES ?= $(addprefix $(CORPUS)/,$(filter-out path,$(shell cut -f1 $(CORPUS)/VERDICTS.tsv $(CORPUS)/TIMESTAMPED.tsv 2>/dev/null))) \
    $(wildcard $(CORPUS)/few-values/*.zst)
bench-ablation: ## Polygraph without each of its ways to find an order, on real and generated histories, in build/bench/ablation.md (minutes); FILES="history..."
	@$(MAKE) -s -j$(JOBS) $(ABLATION)
	@mkdir -p $(BUILD)/bench && $(ABLATION) --initial 0 $(FILES) | tee $(BUILD)/bench/ablation.md

bench-polygraph: ## Black-box checking: speed, growth, what each step is worth, in build/bench/polygraph.md, and the weak levels; ONLY=growth
	@$(MAKE) -s -j$(JOBS) all $(WORKLOAD)
	@BUILD=$(BUILD) bench/polygraph.sh $(ONLY)
	@BUILD=$(BUILD) bench/weak.sh

.PHONY: bench-proxy
bench-proxy: all $(FORWARDER) ## What isochron-proxy costs beside a forwarder of bytes: pgbench by turns, on a PostgreSQL of its own; minutes
	@BUILD=$(BUILD) bench/proxy.sh

.PHONY: bench-stores
bench-stores: $(STORES) ## The store of cold keys beside LMDB and RocksDB (3M keys; some minutes); needs deps
	@for store in log lmdb rocksdb; do \
		folder=$$(mktemp -d) && $(STORES) $$store $$folder 3000000 60; rm -rf $$folder; done

FORMATTED = $(shell find include src connectors tests bench docs -name '*.[ch]')
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
documents: $(BUILD)/isochron.1 $(COMPLETIONS) ## Make the man page, completions, docs/options.md and the picture of the modules from their tables
	$(Q)$(BUILD)/isochron document markdown >docs/options.md
	$(Q)docs/modules.py >docs/modules.svg

# The libraries for other programs: include/iso/isochron.h and include/iso/recorder.h. Their objects are their own, since the
# program's need not be position-independent as a shared library's must; what a library needs of a module is taken from an
# archive of all of it. Nothing is visible but what the headers declare, in the static libraries as well.
ABI := 1
INTERFACES := $(foreach library,isochron isochron-recorder,$(BUILD)/lib/lib$(library).so.$(ABI) $(BUILD)/lib/lib$(library).a)
independent = $(patsubst %.c,$(BUILD)/lib/obj/%.o,$(1))
ISOCHRON_OBJECTS := $(call independent,$(call sources,library))
RECORDER_OBJECTS := $(call independent,$(call sources,recorder))
SHARED_OBJECTS := $(BUILD)/lib/shared.a

$(BUILD)/lib/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(Q)$(CC) $(subst -fPIE,-fPIC -fvisibility=hidden,$(CFLAGS_ALL)) -c $< -o $@

$(SHARED_OBJECTS): $(call independent,$(call sources,$(call rooms,shared)))
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/lib/libisochron.so.$(ABI): NEEDED := -lzstd -lcadical -lstdc++ -lm
$(BUILD)/lib/libisochron-recorder.so.$(ABI): NEEDED := -lrdkafka
$(BUILD)/lib/libisochron.so.$(ABI) $(BUILD)/lib/libisochron.a: $(ISOCHRON_OBJECTS)
$(BUILD)/lib/libisochron-recorder.so.$(ABI) $(BUILD)/lib/libisochron-recorder.a: $(RECORDER_OBJECTS)

$(BUILD)/lib/lib%.so.$(ABI): $(SHARED_OBJECTS) deploy/pkgconfig/exports.map
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=deploy/pkgconfig/exports.map -Wl,--exclude-libs,ALL -Wl,--as-needed -Wl,-z,defs \
	    $(subst -pie,,$(LDFLAGS_ALL)) $(filter %.o,$^) $(SHARED_OBJECTS) $(NEEDED) -o $@

$(BUILD)/lib/lib%.a: $(SHARED_OBJECTS)
	@rm -f $@
	$(Q)$(CC) -r -nostdlib $(filter %.o,$^) $(SHARED_OBJECTS) -o $(@:.a=.o)
	$(Q)objcopy --localize-hidden $(@:.a=.o)
	$(Q)$(AR) rcs $@ $(@:.a=.o)
	@rm -f $(@:.a=.o)

.PHONY: lib
lib: $(INTERFACES) ## Build the libraries for other programs, shared and static: build/lib

PREFIX ?= /usr/local
# Where libraries go, below PREFIX: lib/x86_64-linux-gnu for Debian.
LIBDIR ?= lib
SHARE = $(DESTDIR)$(PREFIX)/share
INSTALLED = $(DESTDIR)$(PREFIX)/$(LIBDIR)
VERSION = $(shell sed -n 's/^.define ISO_VERSION "\(.*\)"/\1/p' include/iso/version.h)
.PHONY: install install-proxy install-program install-libraries
install-proxy: $(BUILD)/isochron-proxy
	@install -D $(BUILD)/isochron-proxy $(DESTDIR)$(PREFIX)/bin/isochron-proxy

install-program: $(BUILD)/isochron $(BUILD)/isochron.1 $(COMPLETIONS)
	@install -D $(BUILD)/isochron $(DESTDIR)$(PREFIX)/bin/isochron
	@install -D -m 644 $(BUILD)/isochron.1 $(SHARE)/man/man1/isochron.1
	@install -D -m 644 $(BUILD)/completion.bash $(SHARE)/bash-completion/completions/isochron
	@install -D -m 644 $(BUILD)/completion.zsh $(SHARE)/zsh/vendor-completions/_isochron
	@install -D -m 644 $(BUILD)/completion.fish $(SHARE)/fish/vendor_completions.d/isochron.fish

install-libraries: $(INTERFACES)
	@install -d $(DESTDIR)$(PREFIX)/include/iso $(INSTALLED)/pkgconfig
	@install -m 644 $(addprefix include/iso/,isochron.h recorder.h status.h version.h) $(DESTDIR)$(PREFIX)/include/iso
	@install -m 644 $(INTERFACES) $(INSTALLED)
	@for library in isochron isochron-recorder; do \
	    ln -sf lib$$library.so.$(ABI) $(INSTALLED)/lib$$library.so; \
	    sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' deploy/pkgconfig/$$library.pc.in \
	        >$(INSTALLED)/pkgconfig/$$library.pc; \
	done

install: install-program install-proxy install-libraries ## Install program, man page, completions, libraries and headers under PREFIX (/usr/local)

.PHONY: deb
deb: all lib ## Build the Debian packages of the program and its libraries, their bills of materials (.cdx.json) and SHA256SUMS
	@deploy/debian/build.sh $(BUILD)

.PHONY: image
image: ## Build the container's image; refuses base images that no digest names (ALLOW_UNPINNED=1)
	@deploy/docker/build.sh

clean: ## Remove everything that was built
	rm -rf build build-*

help: ## List the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "  make %-13s %s\n", $$1, $$2}'

-include $(shell find $(BUILD)/obj $(BUILD)/obj-validating $(BUILD)/obj-faults $(BUILD)/obj-unit $(BUILD)/counted $(BUILD)/lib/obj -name '*.d' 2>/dev/null)
