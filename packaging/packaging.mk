# What is given away: included by the Makefile.
#
#   make dist         awf-VERSION.tar.gz from what git has, below build/dist; it builds without git
#   make deb          Debian packages of it, below build/deb
#   make static-dist  a tarball of static programs for any Linux on this kind of processor, below build/dist
#   make check-reproducible  build all of it twice, in two places: the same bytes?
#   make check-packages      install, upgrade and purge the packages, and try the static programs, each in a
#                     file system of its own; needs root, and for the packages a Debian mirror
#
# None of them is part of make check: they take minutes, and some fetch packages.

# The one place of the version is lib/base/version.h.
VERSION = $(shell sed -n 's/.*AWF_VERSION "\(.*\)"/\1/p' lib/base/version.h)
DIST = $(BUILD)/dist
DEPS_DEB = dpkg-dev debhelper lintian
# What the minimal libcurl of static programs is made with.
DEPS_STATIC = dpkg-dev autoconf automake libtool libssl-dev libnghttp2-dev zlib1g-dev libsqlite3-dev
DEPS_PACKAGES = mmdebstrap busybox-static jq openssl

dist:
	@sh packaging/dist "$(VERSION)" "$(DIST)"
deb: dist
	@sh tests/support/deps.sh --if-missing $(DEPS_BUILD) $(DEPS_DEB)
	@sh packaging/deb "$(VERSION)" "$(DIST)" "$(BUILD)/deb"
static-dist:
	@sh tests/support/deps.sh --if-missing $(DEPS_BUILD) $(DEPS_STATIC)
	@MAKE='$(MAKE)' CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' sh packaging/static-dist "$(VERSION)" "$(DIST)" "$(BUILD)/static"
check-reproducible: dist
	@sh tests/support/deps.sh --if-missing $(DEPS_BUILD)
	@bash tests/packaging/reproducible "$(VERSION)" "$(DIST)"
check-packages: deb static-dist
	@sh tests/support/deps.sh --if-missing $(DEPS_TEST) $(DEPS_PACKAGES)
	@$(MAKE) --no-print-directory -s $(BUILD)/tests/support/model-server
	@BUILD=$(abspath $(BUILD)) bash tests/packaging/debian
	@BUILD=$(abspath $(BUILD)) bash tests/packaging/static

.PHONY: dist deb static-dist check-reproducible check-packages
