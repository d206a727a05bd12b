#!/usr/bin/env bats
# The page of awf-serve, in Chromium. What it needs is no part of AWF: playwright-core and
# axe-core of npm, in NODE_PATH.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/serve

prepare() {
	command -v chromium >/dev/null || skip "no chromium"
	node -e 'require("playwright-core"); require("axe-core")' 2>/dev/null || skip "no playwright-core and axe-core in NODE_PATH"
	CHROMIUM=$(command -v chromium)
	export CHROMIUM
	# Chromium keeps its caches there.
	export XDG_CACHE_HOME="$BATS_TEST_TMPDIR/cache"
	patient
}

drive() { timeout 150 node "$ROOT/tests/page/drive.mjs" "$1" "$URL" "$CODE" "${@:2}" 3>&-; }
demo() { awf-run -n --name demo -c 'awf-step -n a -- echo x | awf-step b -q -- cat; awf-step -n c -q -- true'; }

@test "the list of runs, filters and search; a run; a link to one event in another tab" {
	demo
	awf-run -n --name broken -c 'awf-step -n a -q -- false' || true
	serve
	drive list
}

@test "keys alone" {
	demo
	serve
	drive keys
}

@test "what events hold is text, whatever it says" {
	awf-run -n --name '<b>bold' -c 'awf-step -n "<img src=x onerror=bad=1>" -q -- echo "<img src=x onerror=bad=1><script>bad=1</script>"' ||
		awf-run -n --name '<b>bold' -c 'awf-step -n a -q -- echo "<img src=x onerror=bad=1><script>bad=1</script>"'
	serve
	drive text '<b>bold'
}

@test "a live run is followed over a reload and 5 s without a network, each event once" {
	awf-run -n --name live -c 'for i in $(seq 40); do awf-step -n "s$i" -q -- sleep 0.3; done' 3>&- &
	runner=$!
	eventually [ -e "$AWF_STORAGE/latest" ]
	serve --host localhost
	drive follow @live "$(transcript)"
	wait "$runner"
}

@test "approve with an edit and without, deny with a reason, say that work has failed" {
	cat >flow <<-'END'
		awf-step --approve ok | awf-step go -r -- cat
	END
	awf-run --name one flow <<<cake || [ $? = 75 ]
	awf-run --name two flow <<<cake || [ $? = 75 ]
	printf 'a\r\nb\r\n' | awf-run --name three flow || [ $? = 75 ]
	awf-run -n --name four -c 'awf-step -n --pending job -q -- sh -c "exit 75"' || [ $? = 75 ]
	serve
	drive decide @one @two @three @four
	same "$(awf-run --resume @one)" tea
	run -3 awf-run --resume @two
	same "$(awf-run --resume @three | od -An -c | tr -d ' ')" 'a\r\nb\r\n'
	run -3 awf-run --resume @four
}

@test "a run is stopped" {
	awf-run -n --name live -c 'awf-step -n a -q -- sleep 60' 3>&- &
	runner=$!
	eventually [ -e "$AWF_STORAGE/latest" ]
	serve
	drive stop @live
	run ! wait "$runner"
}

@test "100,000 events are scrolled from the first to the last within 16 ms a frame" {
	id=0f1e2d3c-0000-4000-8000-000000000001
	mkdir -p "$AWF_STORAGE/transcripts"
	node "$ROOT/tests/page/long.mjs" 100000 "$id" | chain >"$AWF_STORAGE/transcripts/$id.jsonl"
	same "$(wc -l <"$AWF_STORAGE/transcripts/$id.jsonl")" 100000
	serve
	drive long "$id" 16 >&3
}

@test "axe finds nothing, in light and dark, wide and narrow" {
	demo
	awf-run --name waits -c 'awf-step --approve ok' <<<cake || [ $? = 75 ]
	awf-run -n --name broken -c 'awf-step -n a -q -- sh -c "echo why >&2; false"' || true
	serve
	drive axe @demo @waits @broken
}
