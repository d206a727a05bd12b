# Sourced by the bats files that drive the page of awf-serve in Chromium. What they need is no part of
# AWF: playwright-core and axe-core of npm, in NODE_PATH.
# shellcheck shell=bash

# Skips the test where that is not there.
page_prepare() {
	command -v chromium >/dev/null || skip "no chromium"
	node -e 'require("playwright-core"); require("axe-core")' 2>/dev/null || skip "no playwright-core and axe-core in NODE_PATH"
	CHROMIUM=$(command -v chromium)
	export CHROMIUM
	# Chromium keeps its caches there.
	export XDG_CACHE_HOME="$BATS_TEST_TMPDIR/cache"
	patient
}

# A scenario of tests/page/drive.mjs, with what it is given.
page_drive() { timeout 300 node "$ROOT/tests/page/${PAGE:-drive}.mjs" "$1" "$URL" "$CODE" "${@:2}" 3>&-; }
