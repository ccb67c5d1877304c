# make install and make uninstall: the program, the library, headers, manual pages and completion, under PREFIX, in DESTDIR.

.PHONY: install uninstall
ROOT := $(DESTDIR)$(PREFIX)

install: all
	install -d $(ROOT)/bin $(ROOT)/lib/pkgconfig $(ROOT)/lib/cmake/tpat $(ROOT)/include/tpat
	install -m 644 $(B)/libtpat.a $(ROOT)/lib/libtpat.a
	install -m 755 $(B)/libtpat.so $(ROOT)/lib/libtpat.so.$(VERSION)
	ln -sf libtpat.so.$(VERSION) $(ROOT)/lib/libtpat.so.$(SOVER)
	ln -sf libtpat.so.$(VERSION) $(ROOT)/lib/libtpat.so
	install -m 644 include/tpat/*.h include/tpat/*.hpp $(ROOT)/include/tpat
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' tpat.pc.in > $(ROOT)/lib/pkgconfig/tpat.pc
	install -m 644 tpat-config.cmake $(ROOT)/lib/cmake/tpat
	sed 's|@VERSION@|$(VERSION)|' tpat-config-version.cmake.in > $(ROOT)/lib/cmake/tpat/tpat-config-version.cmake
ifneq ($(PROGRAM),)
	install -m 755 $(B)/tpat $(ROOT)/bin/tpat
	install -d $(ROOT)/share/man/man1 $(ROOT)/share/man/man7 $(ROOT)/share/bash-completion/completions $(ROOT)/share/fish/vendor_completions.d
	$(B)/tpat man > $(ROOT)/share/man/man1/tpat.1
	pages=$$($(B)/tpat man --list) && for page in $$pages; do \
		name=$${page#tpat-}; \
		$(B)/tpat man $${name%.*} > $(ROOT)/share/man/man$${page##*.}/$$page || exit; \
	done
	$(B)/tpat completion bash > $(ROOT)/share/bash-completion/completions/tpat
	$(B)/tpat completion fish > $(ROOT)/share/fish/vendor_completions.d/tpat.fish
endif
	@test -n "$(DESTDIR)" || test "$$(id -u)" != 0 || ldconfig

uninstall:
	rm -f $(addprefix $(ROOT)/,bin/tpat lib/libtpat.a lib/libtpat.so.$(VERSION) lib/libtpat.so.$(SOVER) lib/libtpat.so \
		lib/pkgconfig/tpat.pc share/man/man1/tpat.1 share/man/man[17]/tpat-*.[17] share/bash-completion/completions/tpat \
		share/fish/vendor_completions.d/tpat.fish)
	rm -rf $(ROOT)/include/tpat $(ROOT)/lib/cmake/tpat
