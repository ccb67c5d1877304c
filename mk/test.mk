# Tests and the demo. tests/run knows the groups; here is how their programs are built.

.PHONY: test test-long demo

SETUP_TEST := build/setup-test
$(SETUP_TEST): tools/setup tools/pip $(wildcard tools/requirements/*.txt) | $(SETUP)
	tools/setup test
	@mkdir -p $(@D) && touch $@

# CC and the like reach the makes that tests/run starts through MAKEFLAGS.
test: $(SETUP_TEST)
	+@tests/run $(GROUP)
test-long: $(SETUP_TEST)
	tools/setup long
	+@LONG=1 tests/run $(GROUP)
export DEV

# Programs that call the library: tests/unit/ir_test.c is build/tests/unit/ir_test; with SANITIZE=1 in build/asan.
UNIT_TESTS := $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/unit/*_test.c)))
.PHONY: unit-tests
unit-tests: $(UNIT_TESTS)

# Compiled apart from linking: a changed library links them again, and compiles none.
OUTSIDE := $(OBJ)/tests/%.o $(OBJ)/tools/%.o $(OBJ)/bench/%.o
$(OUTSIDE): private FLAGS += -I. -Itests
.PRECIOUS: $(OBJ)/%.o
define link_program
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -rdynamic -o $@ $< $(B)/tests/libhelpers.a $(B)/libtpat.a $(LIBS)
endef
NEEDS := $(B)/tests/libhelpers.a $(B)/libtpat.a $(B)/flags
$(B)/tests/%: $(OBJ)/tests/%.o $(NEEDS)
	$(link_program)
$(B)/tools/%: $(OBJ)/tools/%.o $(NEEDS)
	$(link_program)
$(B)/bench/%: $(OBJ)/bench/%.o $(NEEDS)
	$(link_program)
-include $(wildcard $(OBJ)/tests/*/*.d $(OBJ)/tools/*.d $(OBJ)/bench/*.d)

# Code that several of them share: the host that plays TensorRT, plans run on the emulator, programs read from text, regions of the
# zoo, fuzz targets' main().
HELPERS := $(filter-out %_test.c,$(sort $(wildcard tests/host/*.c tests/nodes/*.c tests/program/*.c tests/zoo/*.c) tests/fuzz/replay.c))
HELP_OBJ := $(HELPERS:%.c=$(OBJ)/%.o)
$(B)/tests/libhelpers.a: $(HELP_OBJ) $(B)/helpers
	@mkdir -p $(@D) && rm -f $@
	$(call say,AR)
	$(Q)ar rcs $@ $(HELP_OBJ)
$(B)/helpers: FORCE
	@$(call save,$(HELP_OBJ))

# The table of rules with one more: what docs/add-a-schedule.md adds. Its rules.def comes before the one of src/sched/.
ADDED := $(B)/tests/added
ADDED_OBJ := $(ADDED)/rules.o $(ADDED)/rule_uniform.o $(ADDED)/added_test.o
$(ADDED)/sched/rules.def: src/sched/rules.def
	@mkdir -p $(@D)
	@{ cat $< && echo 'RULE(uniform)'; } > $@
$(ADDED)/rules.o: src/sched/rules.c
$(ADDED)/rule_uniform.o: tests/added/rule_uniform.c
$(ADDED)/added_test.o: tests/added/added_test.c
$(ADDED_OBJ): $(ADDED)/sched/rules.def $(B)/flags
	$(call say,CC)
	$(Q)$(CC) -I$(ADDED) $(FLAGS) -I. $(CFLAGS) -MMD -MP -c $(filter %.c,$^) -o $@
$(ADDED)/added_test: $(ADDED_OBJ) $(NEEDS)
	$(call say,LINK)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -rdynamic -o $@ $(ADDED_OBJ) $(B)/tests/libhelpers.a $(B)/libtpat.a $(LIBS)
-include $(wildcard $(ADDED)/*.d)

# A plugin library as generated code would be: the runtime and a library description written by hand.
RT_SOURCES := $(wildcard rt/core/*.c rt/tensorrt/*.c rt/onnxruntime/*.c)
$(B)/tests/rt/lib%.so: tests/rt/%.c $(RT_SOURCES) $(wildcard rt/*/*.h include/tpat/*.h) $(B)/flags
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(FLAGS) -Irt $(CFLAGS) -shared -o $@ $< $(RT_SOURCES) -ldl -lpthread -lm

# A CUDA driver and NVRTC whose GPU is the emulator, for the execution provider.
$(B)/tests/provider/libcuda.so.1: $(OBJ)/tests/provider/fake_gpu.o $(OBJ)/tests/provider/fake_nvrtc.o $(NEEDS)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -shared -Wl,--exclude-libs,ALL -o $@ $(filter %.o,$^) $(B)/libtpat.a $(LIBS)

# The execution provider with a clock around it.
$(B)/tests/provider/libtimed_ep.so: tests/provider/timed.c src/provider/provider_abi.h include/tpat/tpat_ort_abi.h $(B)/flags
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(FLAGS) -fvisibility=hidden $(CFLAGS) -shared -o $@ $< -ldl

# The part of the runtime that knows no engine, alone.
$(B)/tests/rt/core_test: tests/rt/core_test.c $(wildcard rt/core/*.c rt/core/*.h include/tpat/*.h) $(B)/flags
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(FLAGS) -I. -Irt $(CFLAGS) -o $@ $< $(wildcard rt/core/*.c) -ldl -lpthread

# The runtime, a handwritten library and their tests for AArch64, by a cross compiler, to run under qemu-aarch64. The host needs no
# library but libc there: what of it needs more is not linked.
CROSS     := build/aarch64
CROSS_CC  := aarch64-linux-gnu-gcc
CROSS_OBJ := $(patsubst %.c,$(CROSS)/obj/%.o,$(wildcard src/base/*.c src/tensor/*.c src/engine/tensorrt/host*.c) tests/host/trt_host.c)
$(CROSS)/obj/%.o: %.c $(B)/flags | $(GEN_HEADERS)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CROSS_CC) $(FLAGS) -I. -Itests -Irt -MMD -MP -c $< -o $@
.PRECIOUS: $(CROSS)/obj/%.o
$(CROSS)/libhost.a: $(CROSS_OBJ)
	@rm -f $@
	$(call say,AR)
	$(Q)aarch64-linux-gnu-ar rcs $@ $(CROSS_OBJ)
CROSS_LINK = $(Q)$(CROSS_CC) -rdynamic -o $@ $^ -ldl -lpthread -lm
$(CROSS)/%_test: $(CROSS)/obj/tests/rt/%_test.o $(CROSS)/libhost.a
	$(call say,LINK)
	$(CROSS_LINK)
$(CROSS)/plugin_once: $(CROSS)/obj/tests/rt/plugin_once.o $(CROSS)/libhost.a
	$(call say,LINK)
	$(CROSS_LINK)
$(CROSS)/core_test: $(patsubst %.c,$(CROSS)/obj/%.o,tests/rt/core_test.c $(wildcard rt/core/*.c))
	$(call say,LINK)
	$(Q)$(CROSS_CC) -o $@ $^ -ldl -lpthread
$(CROSS)/lib%.so: tests/rt/%.c $(RT_SOURCES) $(wildcard rt/*/*.h include/tpat/*.h) $(B)/flags
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CROSS_CC) $(FLAGS) -Irt -shared -o $@ $< $(RT_SOURCES) -ldl -lpthread -lm
-include $(wildcard $(CROSS)/obj/*/*.d $(CROSS)/obj/*/*/*.d)

# A CUDA driver without a GPU: for LD_LIBRARY_PATH.
$(B)/tests/driver/libcuda.so.1 $(CROSS)/driver/libcuda.so.1: tests/driver/fake_cuda.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(if $(filter $(CROSS)/%,$@),$(CROSS_CC),$(CC) $(CFLAGS)) $(FLAGS) -fvisibility=default -shared -o $@ $< -ldl -lpthread

# What makes calls of the program fail: for LD_PRELOAD.
$(B)/tests/faults/libfault.so: tests/faults/fault.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(FLAGS) -fvisibility=default $(CFLAGS) -shared -o $@ $< -ldl

# Fuzz targets: the whole library compiled by clang with libFuzzer and the sanitizers, apart from all other objects. Without
# libFuzzer they are tests/fuzz/replay.c's programs, build/asan/tests/fuzz/fuzz_whole.
FUZZ := -O1 -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer
WITH_fuzz_whole := tests/fuzz/mutate.c
WITH_fuzz_ir := tests/program/parse.c tests/program/parse_expr.c
build/fuzz/%: tests/fuzz/%.c FORCE
	@mkdir -p $(@D)
	$(MAKE) --no-print-directory CC=clang B=build/fuzz/lib CFLAGS="$(FUZZ) -fsanitize=fuzzer-no-link" build/fuzz/lib/libtpat.a
	clang $(FLAGS) -I. $(FUZZ) -fsanitize=fuzzer $< $(WITH_$*) -o $@ build/fuzz/lib/libtpat.a $(LIBS)

# build/bench/launch: what an enqueue costs, on a GPU. build/tools/operators: the page of operators, written from their
# definitions and from the results of ONNX's node tests. tools/faq.py: the page of error texts, from TensorRT's table of them.
.PHONY: docs
docs: $(B)/tpat $(B)/tools/operators $(B)/tests/nodes/node_test | $(SETUP_TEST)
	$(Q)build/venv/bin/python tests/nodes/export.py build/nodes
	-$(Q)$(B)/tests/nodes/node_test --table $(B)/tests/docs.tsv build/nodes/index.tsv >/dev/null
	$(Q)$(B)/tools/operators $(B)/tests/docs.tsv build/nodes/operators.tsv tests/nodes/not_in_cuda.tsv >docs/operators.md.new
	$(Q)mv docs/operators.md.new docs/operators.md
	$(Q)python3 tools/faq.py >docs/faq.md.new
	$(Q)mv docs/faq.md.new docs/faq.md
	$(Q)build/venv/bin/python examples/quantized.py examples/quantized.onnx
	$(Q)python3 tools/terminal.py $(B)/tpat >docs/terminal.svg.new
	$(Q)mv docs/terminal.svg.new docs/terminal.svg

# From a model as published to a verified rewritten one. ddddocr is an OCR package; its quantised model holds operators
# that TensorRT refuses.
DEMO      := build/demo
DEMO_ARCH := sm_90# one of the GPUs: kernels for all of them take minutes to compile
build/setup-demo: tools/setup tools/pip $(wildcard tools/requirements/*.txt) | $(SETUP)
	tools/setup demo
	@mkdir -p $(@D) && touch $@
$(DEMO)/common_old.onnx: | build/setup-demo
	build/venv/bin/python tools/model_files.py common_old.onnx $@

demo: all $(DEMO)/common_old.onnx
	$(B)/tpat list $(DEMO)/common_old.onnx
	$(B)/tpat build $(DEMO)/common_old.onnx --auto --arch $(DEMO_ARCH) -o $(DEMO)/common_old_tpat.onnx
	$(B)/tpat verify $(DEMO)/common_old_tpat.onnx --runs 1
	build/venv/bin/python tools/demo-check.py $(DEMO)/common_old.onnx $(DEMO)/common_old_tpat.onnx
