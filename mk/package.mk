# make deb and make tar: the program and the library, for machines without a compiler's packages; in build/package. Both have a
# list of what is linked statically, tpat.cdx.json, and the licences of that.

.PHONY: deb tar
P       := $(B)/package

# Files have the time of the last commit: the same sources and Debian packages give the same bytes.
EPOCH    = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),$(shell stat -c %Y CHANGELOG.md))

# Debug information would name the folder of the build, and the build ID depends on it.
STRIP    := --remove-section=.comment --remove-section=.note
PACKAGED := $(P)/tpat $(P)/libtpat.so $(P)/libtpat_ep.so $(P)/libtpat.a
$(P)/tpat: $(B)/tpat
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_PROGRAM) -s -Wl,-Map=$@.map && strip $(STRIP) $@
$(P)/libtpat.so: $(B)/libtpat.so
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_LIBRARY) -s -Wl,-Map=$@.map && strip $(STRIP) $@
$(P)/libtpat_ep.so: $(B)/libtpat_ep.so
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_PROVIDER) -s -Wl,-Map=$@.map && strip $(STRIP) $@
$(P)/libtpat.a: $(B)/libtpat.a
	@mkdir -p $(@D)
	$(call say,STRIP)
	$(Q)strip -D --strip-debug $(STRIP) -o $@ $<

$(P)/tpat.cdx.json $(P)/copyright: $(PACKAGED) tools/sbom.py
	$(call say,SBOM)
	$(Q)SOURCE_DATE_EPOCH=$(EPOCH) python3 tools/sbom.py $(VERSION) $(P) bin/tpat=$(P)/tpat.map lib/libtpat.so=$(P)/libtpat.so.map \
		lib/tpat/libtpat_ep.so=$(P)/libtpat_ep.so.map

# $(1): the folder. Modes do not depend on umask.
stage    = rm -rf $(1) && mkdir -p $(1) && $(MAKE) --no-print-directory install DESTDIR=$(abspath $(1)) BUILT=$(P) $(2) >$(1).log && \
	   mkdir -p $(1)$(3)/share/doc/tpat && cp $(P)/tpat.cdx.json $(P)/copyright $(1)$(3)/share/doc/tpat/ && chmod -R u+w,go=rX $(1)

deb: $(PACKAGED) $(P)/tpat.cdx.json
	@tools/deb --check
	+$(Q)$(call stage,$(P)/deb,PREFIX=/usr LIBDIR=/usr/lib/$$(dpkg-architecture -qDEB_HOST_MULTIARCH) \
		ZSH_FUNCTIONS=/usr/share/zsh/vendor-completions,/usr)
	$(Q)SOURCE_DATE_EPOCH=$(EPOCH) tools/deb $(VERSION) $(SOVER) $(P)/deb $(P)

tar: $(PACKAGED) $(P)/tpat.cdx.json
	+$(Q)$(call stage,$(P)/tar/tpat-$(VERSION),PREFIX= LIBDIR=/lib PC_PREFIX='$$$${pcfiledir}/../..',)
	$(Q)cp -R LICENSE $(wildcard *.md) docs examples $(P)/tar/tpat-$(VERSION)/share/doc/tpat/
	$(Q)SOURCE_DATE_EPOCH=$(EPOCH) tools/tar $(VERSION) $(P)/tar $(P)
