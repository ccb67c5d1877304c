# make install and make uninstall: the program, the library, headers, manual pages and completion, under PREFIX, in DESTDIR.
# Libraries go to LIBDIR.

.PHONY: install uninstall
LIBDIR ?= $(PREFIX)/lib
BUILT  ?= $(B)# where the binaries come from: packages have theirs without debug information
# Paths are single-quoted for the shell: a DESTDIR may contain blanks and other signs.
quoted  = '$(subst ','\'',$(1))'
ROOT   := $(call quoted,$(DESTDIR)$(PREFIX))
LIB    := $(call quoted,$(DESTDIR)$(LIBDIR))
MAN    := $(ROOT)/share/man
BASH   := $(ROOT)/share/bash-completion/completions
FISH   := $(ROOT)/share/fish/vendor_completions.d
ZSH_FUNCTIONS ?= $(PREFIX)/share/zsh/site-functions
ZSH    := $(call quoted,$(DESTDIR)$(ZSH_FUNCTIONS))

# The prefix in tpat.pc. An archive that is unpacked anywhere has one that starts from the place of this file.
PC_PREFIX ?= $(PREFIX)
FILL = sed 's|@PREFIX@|$(PC_PREFIX)|; s|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|; s|@VERSION@|$(VERSION)|; \
	s|@UP@|$(shell realpath -ms --relative-to=$(call quoted,/$(LIBDIR)/cmake/tpat) $(call quoted,/$(PREFIX)))|' $(1) > $(2)

install: all
	install -d $(ROOT)/bin $(LIB)/pkgconfig $(LIB)/cmake/tpat $(ROOT)/include/tpat
	install -m 644 $(BUILT)/libtpat.a $(LIB)/libtpat.a
	install -m 755 $(BUILT)/libtpat.so $(LIB)/libtpat.so.$(VERSION)
	ln -sf libtpat.so.$(VERSION) $(LIB)/libtpat.so.$(SOVER)
	ln -sf libtpat.so.$(VERSION) $(LIB)/libtpat.so
	install -d $(LIB)/tpat
	install -m 755 $(BUILT)/libtpat_ep.so $(LIB)/tpat/libtpat_ep.so
	install -m 644 include/tpat/*.h include/tpat/*.hpp $(ROOT)/include/tpat
	$(call FILL,tpat.pc.in,$(LIB)/pkgconfig/tpat.pc)
	$(call FILL,tpat-config.cmake.in,$(LIB)/cmake/tpat/tpat-config.cmake)
	$(call FILL,tpat-config-version.cmake.in,$(LIB)/cmake/tpat/tpat-config-version.cmake)
ifneq ($(PROGRAM),)
	install -m 755 $(BUILT)/tpat $(ROOT)/bin/tpat
	install -d $(MAN)/man1 $(MAN)/man7 $(BASH) $(FISH) $(ZSH)
	$(B)/tpat man > $(MAN)/man1/tpat.1
	pages=$$($(B)/tpat man --list) && for page in $$pages; do \
		name=$${page#tpat-}; \
		$(B)/tpat man $${name%.*} > $(MAN)/man$${page##*.}/$$page || exit; \
	done
	$(B)/tpat completion bash > $(BASH)/tpat
	$(B)/tpat completion fish > $(FISH)/tpat.fish
	$(B)/tpat completion zsh > $(ZSH)/_tpat
endif
	@test -n $(call quoted,$(DESTDIR)) || test "$$(id -u)" != 0 || ldconfig

uninstall:
	rm -f $(ROOT)/bin/tpat $(addprefix $(LIB)/,libtpat.a libtpat.so.$(VERSION) libtpat.so.$(SOVER) libtpat.so pkgconfig/tpat.pc) \
		$(MAN)/man1/tpat.1 $(MAN)/man[17]/tpat-*.[17] $(BASH)/tpat $(FISH)/tpat.fish $(ZSH)/_tpat
	rm -rf $(ROOT)/include/tpat $(LIB)/cmake/tpat $(LIB)/tpat
