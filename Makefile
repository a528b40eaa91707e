# Isochron. `make help` lists the targets.

CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
BUILD ?= build
SANITIZE ?=
OPTIMISE ?= -O2
WERROR ?= -Werror
V ?= 0
Q := $(if $(filter 1,$(V)),,@)

CFLAGS_ALL := -std=c11 $(OPTIMISE) -g -Wall -Wextra $(WERROR) -Iinclude -Isrc -I. -MMD -MP -pthread \
              $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) $(CFLAGS)
LDFLAGS_ALL := -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)
LIBRARIES := -lzstd -lcadical -lstdc++ -lm
# Sanitizers replace malloc themselves.
ALLOCATOR := $(if $(SANITIZE),,-ljemalloc)

LIBRARY_SOURCES := $(sort $(filter-out src/app/%,$(wildcard src/*/*.c)) $(wildcard connectors/*/*.c))
APP_SOURCES := $(sort $(wildcard src/app/*.c))
ORACLE_SOURCES := $(sort $(wildcard tests/oracle/*.c) $(wildcard tests/support/*.c))
UNIT_SOURCES := $(sort $(wildcard tests/unit/*/test_*.c))
PROPERTY_SOURCES := $(sort $(wildcard tests/property/*.c))
FUZZ_SOURCES := $(sort $(wildcard tests/fuzz/*.c))

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIBRARY := $(BUILD)/libisochron.a
TEST_SUPPORT := $(BUILD)/libtestsupport.a
UNIT_PROGRAMS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(UNIT_SOURCES))
PROPERTY_PROGRAMS := $(patsubst tests/property/%.c,$(BUILD)/tests/property/%,$(PROPERTY_SOURCES))

.DEFAULT_GOAL := all
.PHONY: all
all: $(BUILD)/isochron ## Build build/isochron and build/libisochron.a

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

$(LIBRARY): $(call objects,$(LIBRARY_SOURCES))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(TEST_SUPPORT): $(call objects,$(ORACLE_SOURCES))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/isochron: $(call objects,$(APP_SOURCES)) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(ALLOCATOR) $(LIBRARIES) -o $@

$(UNIT_PROGRAMS): $(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(TEST_SUPPORT) $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBRARIES) -lcmocka -ljansson -o $@

$(PROPERTY_PROGRAMS): $(BUILD)/tests/property/%: $(BUILD)/obj/tests/property/%.o $(TEST_SUPPORT) $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBRARIES) -lcmocka -ljansson -o $@

.PHONY: unit property
unit: $(UNIT_PROGRAMS)
property: $(PROPERTY_PROGRAMS)

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf build build-*

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "  make %-10s %s\n", $$1, $$2}'

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
