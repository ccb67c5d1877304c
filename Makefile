# tpat: everything is built by this file; generated sources are in mk/generate.mk, tests and the demo in mk/test.mk.
#
#   make              build/tpat, build/libtpat.a, build/libtpat.so, build/libtpat_ep.so
#   make test         all tests that need no GPU (GROUP=unit: one group; DEV=cuda: the GPU groups too)
#   make test-long    random problems, fuzzing and sanitizers at full length
#   make demo         a real model, from its original file to a verified rewritten one
#   make wheel        the Python package, in build/wheel (docs/python.md)
#   make install      PREFIX=/usr/local, DESTDIR=; make uninstall
#   make deb, tar     a Debian package and an archive, in build/package (docs/install.md)
#   make size         lines a folder;  make format: clang-format over the sources;  make clean
#
#   CC=clang          another compiler, with objects of its own;  SANITIZE=1: AddressSanitizer and UBSan, in build/asan

CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
PREFIX  ?= /usr/local
VERSION := $(or $(shell sed -n 's/^\#define TPAT_VERSION "\(.*\)"/\1/p' include/tpat/tpat.h 2>/dev/null),0.1.0)
SOVER   := $(firstword $(subst ., ,$(VERSION)))

ifdef SANITIZE
B       := build/asan
OPTIM   := -O1 -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer -DTPAT_DEBUG
else
B       := build
OPTIM   := -O2
endif
# Each compiler has its own objects: going from one to another and back compiles nothing again.
empty   :=
OBJ     := $(B)/obj/$(subst $(empty) $(empty),_,$(notdir $(CC)))
GEN     := build/gen

# Warnings are errors with the compilers that the sources are written with: gcc 12 to 15, clang 14 to 19. Others warn of other
# things, which must not stop the build of a user.
CC_IS   := $(shell { $(CC) --version | head -n 1; } 2>/dev/null)
kind    := $(if $(findstring clang,$(CC_IS)),clang,gcc)
known   := $(if $(filter clang,$(kind)),14 15 16 17 18 19,12 13 14 15)
WERROR  := $(if $(filter $(known),$(firstword $(subst ., ,$(shell { $(CC) -dumpversion; } 2>/dev/null)))),-Werror)
WARN    := -Wall -Wextra -Wcast-qual $(WERROR)
CFLAGS  ?=
FLAGS   := -std=c11 -D_GNU_SOURCE $(OPTIM) -g $(WARN) -fvisibility=hidden -fPIC -ffp-contract=off \
	   -Isrc -Iinclude -I$(GEN)

# What is installed as an archive is linked into the program, so that it runs on machines without these packages.
archive  = $(if $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a)),-l:lib$(1).a,-l$(1))
LIBS     = $(foreach lib,protobuf-c jansson sqlite3 z,$(call archive,$(lib))) -ldl -lpthread -lm

# One short line a step; V=1 shows the commands.
Q       := $(if $(V),,@)
say      = $(if $(V),,@printf '  %-8s %s\n' $(1) $@)

SOURCES := $(sort $(wildcard src/*/*.c src/*/*/*.c))
PROGRAM := $(filter src/cli/%,$(SOURCES))
PROVIDER := $(filter src/provider/%,$(SOURCES))
LIBRARY := $(filter-out src/cli/% src/provider/%,$(SOURCES))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all clean size format FORCE

include mk/generate.mk

LIB_OBJ := $(LIBRARY:%.c=$(OBJ)/%.o) $(GEN_OBJ)
CLI_OBJ := $(PROGRAM:%.c=$(OBJ)/%.o)
EP_OBJ  := $(PROVIDER:%.c=$(OBJ)/%.o)

all: $(B)/libtpat.a $(B)/libtpat.so $(B)/libtpat_ep.so $(if $(PROGRAM),$(B)/tpat)

$(OBJ)/%.o: %.c $(OBJ)/flags | $(SETUP) $(GEN_HEADERS)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(B)/libtpat.a: $(LIB_OBJ) $(B)/objects
	@rm -f $@
	$(call say,AR)
	$(Q)ar rcs $@ $(LIB_OBJ)

# Also what mk/package.mk links, without debug information. RELRO: the loader makes tables of addresses read-only.
LINK         = $(CC) $(FLAGS) $(CFLAGS) $(LDFLAGS) -Wl,-z,relro,-z,now -o $@
LINK_LIBRARY = $(LINK) -shared -Wl,-soname,libtpat.so.$(SOVER) -Wl,--exclude-libs,ALL $(LIB_OBJ) $(LIBS)
LINK_PROVIDER = $(LINK) -shared -Wl,--exclude-libs,ALL $(EP_OBJ) $(B)/libtpat.a $(LIBS)
LINK_PROGRAM = $(LINK) $(CLI_OBJ) $(B)/libtpat.a $(LIBS)

$(B)/libtpat.so: $(LIB_OBJ) $(B)/objects
	$(call say,LINK)
	$(Q)$(LINK_LIBRARY)
	@ln -sf libtpat.so $@.$(SOVER)

# The execution provider for ONNX Runtime, which contains the library.
$(B)/libtpat_ep.so: $(EP_OBJ) $(B)/libtpat.a
	$(call say,LINK)
	$(Q)$(LINK_PROVIDER)

$(B)/tpat: $(CLI_OBJ) $(B)/libtpat.a
	$(call say,LINK)
	$(Q)$(LINK_PROGRAM)

# The compiler, its flags and the set of objects are inputs too: these files change only when what they say does. The compiler's
# path is not one: `sudo make install` may have another PATH than `make`, and must not compile everything again.
$(OBJ)/flags $(B)/flags: FORCE | $(SETUP)
	@$(call save,$(CC_IS) $(FLAGS) $(CFLAGS))
$(B)/objects: FORCE
	@$(call save,$(LIB_OBJ) $(LDFLAGS))

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(EP_OBJ:.o=.d)

size:
	@tools/size.sh

format:
	@test -x build/venv/bin/clang-format || tools/setup test
	build/venv/bin/clang-format -i $$(git ls-files --cached --others --exclude-standard '*.c' '*.h')

# Keeps what was downloaded (build/venv, build/demo, build/nodes, build/wheels); `rm -r build` removes that too.
clean:
	rm -rf build/obj build/asan build/gen build/package build/tests build/flags build/objects build/helpers build/tpat build/libtpat.* build/libtpat_ep.so

include mk/install.mk
include mk/package.mk
include mk/test.mk
include mk/python.mk
