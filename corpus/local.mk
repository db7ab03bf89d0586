# SPDX-License-Identifier: MIT
#
# The seeds are many and named for what they show, so the folders are handed
# on whole; `penumbra fuzz` finds an installed corpus by pkgdatadir.

EXTRA_DIST += \
	%D%/findings \
	%D%/fuzz_lua54 \
	%D%/pen

corpus_installed = %D%/findings %D%/fuzz_lua54 %D%/pen

install-data-local:
	@$(NORMAL_INSTALL)
	cd '$(srcdir)' && find $(corpus_installed) -type f | \
	while IFS= read -r file; do \
	  folder=`dirname "$$file"`; \
	  $(MKDIR_P) "$(DESTDIR)$(pkgdatadir)/$$folder" && \
	  $(INSTALL_DATA) "$$file" "$(DESTDIR)$(pkgdatadir)/$$folder" || exit 1; \
	done

uninstall-local:
	@$(NORMAL_UNINSTALL)
	rm -rf '$(DESTDIR)$(pkgdatadir)/corpus'
