# The Python package: build/python/tpat is complete (PYTHONPATH=build/python), and `make wheel` packs it into build/wheel.
.PHONY: python wheel
API := include/tpat/tpat.h include/tpat/tpat_verify.h include/tpat/tpat_run.h
python: $(B)/libtpat.so tools/python-calls.py $(API)
	@rm -rf build/python && mkdir -p build/python
	@cp -r python/tpat build/python/ && rm -rf build/python/tpat/__pycache__ build/python/tpat/*/__pycache__
	$(Q)python3 tools/python-calls.py $(API) build/python/tpat/_calls.py
	$(Q)strip --strip-debug -o build/python/tpat/libtpat.so $(B)/libtpat.so
wheel: python $(P)/libtpat.so tools/sbom.py tools/wheel.py
	@rm -rf build/wheel build/python/linked && mkdir -p build/python/linked
	@cp $(P)/libtpat.so build/python/tpat/libtpat.so
	$(Q)SOURCE_DATE_EPOCH=$(EPOCH) python3 tools/sbom.py $(VERSION) build/python/linked tpat/libtpat.so=$(P)/libtpat.so.map
	$(Q)python3 tools/wheel.py $(VERSION) build/wheel build/python/linked

# The programs of examples/, as a user compiles them.
.PHONY: examples
LINK_EXAMPLE = -L$(B) -ltpat -Wl,-rpath,$(abspath $(B))
examples: $(B)/libtpat.so
	@mkdir -p build/examples
	$(Q)for name in build run; do \
		$(CC) -std=c11 -Wall -Wextra $(WERROR) -Iinclude examples/$$name.c -o build/examples/$${name}_c $(LINK_EXAMPLE) && \
		g++ -std=c++17 -Wall -Wextra $(WERROR) -Iinclude examples/$$name.cpp -o build/examples/$${name}_cpp $(LINK_EXAMPLE) || exit; \
	done
