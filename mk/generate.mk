# Generated sources, all in build/gen, each from one stated source; and the tools that building needs.

# Write the text $(1) to the target, but leave the file alone when it already says that.
save = mkdir -p $(@D) && printf '%s\n' '$(1)' | cmp -s - $@ || printf '%s\n' '$(1)' > $@

# Compiler, protoc-c and libraries, installed when missing. The file is included, though it is empty, since make then starts anew after
# the installation: flags depend on the compiler, and with those of a missing one the next make would compile everything again.
SETUP := build/setup-build
$(SETUP): tools/setup
	tools/setup build
	@mkdir -p $(@D) && touch $@
ifneq ($(filter-out clean size format uninstall,$(or $(MAKECMDGOALS),all)),)
include $(SETUP)
endif

GEN_HEADERS := $(GEN)/op_list.inc
GEN_OBJ     :=

# The model file's format.
ifneq ($(wildcard src/onnx/onnx.proto),)
GEN_HEADERS += $(GEN)/onnx.pb-c.h
GEN_OBJ     += $(OBJ)/gen/onnx.pb-c.o
endif
$(GEN)/onnx.pb-c.c $(GEN)/onnx.pb-c.h: $(GEN)/onnx.stamp ;
$(GEN)/onnx.stamp: src/onnx/onnx.proto | $(SETUP)
	@mkdir -p $(@D)
	$(call say,PROTOC)
	$(Q)$$(command -v protoc-c || command -v protoc) --c_out=$(GEN) --proto_path=src/onnx onnx.proto
	@touch $@

# The operators, each with its folder: OP(onnx, op_x) for `const struct op_def op_x =` in src/ops/onnx/, OP_TABLE(ml, ops_y)
# for `const struct op_def ops_y[] =` in src/ops/ml/. The new file has a name of its own, since tests run several makes at once.
$(GEN)/op_list.inc: FORCE
	@mkdir -p $(@D)
	@new=$@.$$$$; awk '/^const struct op_def ops?_[a-z0-9_]+(\[\])? *=/ { \
		split(FILENAME, path, "/"); name = $$4; table = sub(/\[\]/, "", name); \
		print (table ? "OP_TABLE(" : "OP(") path[3] ", " name ")" }' $(sort $(wildcard src/ops/*/*.c)) /dev/null > $$new && \
		{ cmp -s $$new $@ && rm $$new || mv $$new $@; }

# The runtime of TensorRT libraries, compiled, in one file: a build need not wait for that. As src/engine/ compiles its sources.
RUNTIME := $(patsubst rt/%.c,$(GEN)/rt/%.o,$(sort $(wildcard rt/core/*.c rt/tensorrt/*.c rt/onnxruntime/*.c)))
$(GEN)/rt/%.o: rt/%.c | $(SETUP)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -O2 -fPIC -fvisibility=hidden -pthread -Iinclude -MMD -MP -c $< -o $@
$(GEN)/runtime.o: $(RUNTIME)
	$(call say,LINK)
	$(Q)$(CC) -r -nostdlib -o $@ $^
-include $(RUNTIME:.o=.d)

# Words that names in kernels keep clear of: what the headers of a language declare, and all macros. Of CUDA those of all
# that its headers are compiled for; and libc's macros, since NVRTC has some, and nvcc and the emulator include libc's headers
# as C++, for which they define all of GNU's.
LIBC := -D_GNU_SOURCE -include limits.h -include stdio.h
MACROS = $(CC) -std=gnu11 -dM -E -x c $(1) | sed -n 's/^\#define \([A-Za-z][A-Za-z0-9_]*\).*/\1/p'
DECLARED = $(CC) -std=gnu11 -E -x c $(1) | awk -f tools/words.awk
CUDA_HEADERS := $(sort $(filter-out %/tpat_cpu.h,$(wildcard rt/device/*.h)))
$(GEN)/words_c.txt: rt/device/tpat_cpu.h tools/words.awk mk/generate.mk | $(SETUP)
	@mkdir -p $(@D)
	$(Q){ $(call MACROS,$(LIBC) $<); $(call DECLARED,$<); } | LC_ALL=C sort -u > $@
EMULATOR := src/emulator/emulator_cuda.hpp src/emulator/emulator_mma.hpp src/emulator/emulator_host.h
$(GEN)/words_cuda.txt: $(CUDA_HEADERS) $(EMULATOR) rt/device/tpat_cpu.h tools/words.awk mk/generate.mk | $(SETUP)
	@mkdir -p $(@D)
	$(Q){ $(call MACROS,$(LIBC) rt/device/tpat_cpu.h); cat $(EMULATOR) | sed -n 's/^#define \([A-Z][A-Z0-9_]*\).*/\1/p'; \
	for header in $(CUDA_HEADERS); do \
		for way in -UTPAT_EMULATOR -DTPAT_EMULATOR -D__CUDA_ARCH__=750 -D__CUDA_ARCH__=900; do \
			$(call MACROS,$$way $$header); $(call DECLARED,$$way $$header); \
		done; \
	done; } | LC_ALL=C sort -u > $@

# What the program carries: that, its sources, the headers that kernels include, and the emulator's headers for them.
EMBED := $(sort $(wildcard rt/*/*.c rt/*/*.h src/engine/*/deploy/*.in) \
	 $(wildcard include/tpat/tpat_rt.h include/tpat/tpat_abi.h include/tpat/tpat_ort_abi.h \
	 include/tpat/tpat_cuda.h)) \
	 $(EMULATOR) src/emulator/emulator_hooks.cpp $(GEN)/runtime.o $(GEN)/words_c.txt $(GEN)/words_cuda.txt
GEN_OBJ += $(OBJ)/gen/embed.o
$(GEN)/embed.c: $(EMBED) tools/embed.sh $(GEN)/embed.list
	@mkdir -p $(@D)
	$(call say,EMBED)
	$(Q)tools/embed.sh $(EMBED) > $@
$(GEN)/embed.list: FORCE
	@$(call save,$(EMBED))
$(OBJ)/gen/embed.o: $(EMBED)

$(OBJ)/gen/%.o: $(GEN)/%.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -MMD -MP -c $< -o $@
