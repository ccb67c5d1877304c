# The Python package: build/python/tpat is complete (PYTHONPATH=build/python), and `make wheel` packs it into build/wheel.
.PHONY: python wheel
python: $(B)/libtpat.so tools/python-calls.py include/tpat/tpat.h
	@rm -rf build/python && mkdir -p build/python
	@cp -r python/tpat build/python/ && rm -rf build/python/tpat/__pycache__ build/python/tpat/*/__pycache__
	$(Q)python3 tools/python-calls.py include/tpat/tpat.h build/python/tpat/_calls.py
	$(Q)strip --strip-debug -o build/python/tpat/libtpat.so $(B)/libtpat.so
wheel: python
	$(Q)rm -rf build/wheel && python3 tools/wheel.py $(VERSION) build/wheel

# The programs of examples/, as a user compiles them.
.PHONY: examples
examples: $(B)/libtpat.so
	@mkdir -p build/examples
	$(Q)$(CC) -std=c11 -Wall -Wextra $(WERROR) -Iinclude examples/build.c -o build/examples/build_c -L$(B) -ltpat -Wl,-rpath,$(abspath $(B))
	$(Q)g++ -std=c++17 -Wall -Wextra $(WERROR) -Iinclude examples/build.cpp -o build/examples/build_cpp -L$(B) -ltpat \
		-Wl,-rpath,$(abspath $(B))
