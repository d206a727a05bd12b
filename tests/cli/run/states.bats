#!/usr/bin/env bats
# The state of a run, and of each of its calls, is the same wherever it is told: in lists, on its
# tree and timelines, by awf-ctl, by awf-serve, and on its page.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/writing
load ../../support/serve
load ../../support/page

WORDS='done|failed|cancelled|closed|skipped|reused|waiting|running|unfinished'
FLOW='echo cake | awf-step --approve ok | awf-step go -- cat | awf-step last -q -- cat'

# A run in every state. The table: its name, its status, how many of its calls ask somebody, and the
# states of its calls.
runs() {
	local -A ids
	table=(
		'good success 0 a=done'
		'bad failed 0 a=failed b=skipped'
		'caught success 0 a=failed b=done'
		'waits waiting 1 go=waiting last=waiting ok=waiting'
		'decided waiting 0 go=waiting last=waiting ok=waiting'
		'late timeout 0 a=cancelled go=unfinished last=unfinished ok=unfinished'
		'stopped cancelled 0 b=cancelled go=unfinished last=unfinished ok=unfinished'
		'interrupted cancelled 0 b=cancelled go=unfinished last=unfinished ok=unfinished'
		'killed died 0 b=unfinished go=unfinished last=unfinished ok=unfinished'
		'lives running 1 b=running go=waiting last=waiting ok=waiting'
		'lost failed 0 a=unfinished b=done'
		'kinds failed 0 c=closed i=failed l=failed r=reused s=skipped t=failed u=waiting w=waiting'
	)
	awf-run -n --name good -c 'awf-step -n a -q -- true'
	run -3 awf-run -n --name bad -c 'awf-step -n a -- false | awf-step b -q -- cat'
	awf-run -n --name caught -c 'awf-step -n --try a -q -- false; awf-step -n b -q -- true'
	run -75 awf-run -n --name waits -c "$FLOW"
	run -75 awf-run -n --name decided -c "$FLOW"
	awf-ctl approve ok @decided 2>/dev/null
	# Ended by a time limit, by a request, by Ctrl-C, killed, and not at all, with an approval open.
	for name in late stopped interrupted killed lives; do
		limit= step=b
		[ "$name" != late ] || limit='--timeout 2s' step=a
		# shellcheck disable=SC2086 # two words
		setsid env --default-signal=INT awf-run -n $limit --name "$name" -c "$FLOW & awf-step -n $step -q -- sleep 60; wait" \
			</dev/null >/dev/null 2>&1 3>&- &
		ids[$name]=$!
		eventually begun "$name"
	done
	awf-ctl cancel @stopped
	kill -INT -- "-${ids[interrupted]}"
	kill -KILL "${ids[killed]}"
	for name in late:timeout stopped:cancelled interrupted:cancelled killed:died; do
		eventually ended "${name%:*}" "${name#*:}"
	done
	run -3 awf-run -n --name lost -c 'awf-step -n a -q -- sh -c "kill -KILL \$PPID"; awf-step -n b -q -- true'
	kinds
}

# What began last in a run that waits and goes on.
begun() {
	local file
	file=$(awf-tail --list --json | jq -r "select(.name == \"$1\").run_id")
	[ -n "$file" ] && file=$AWF_STORAGE/transcripts/$file.jsonl &&
		grep -q '"step.completed".*"last:0:0"' "$file" && grep -q '"step.started".*"[ab]:0:0"' "$file"
}
ended() { [ "$(awf-tail --list --json | jq -r "select(.name == \"$1\").status")" = "$2" ]; }

# As other programs and older versions may have recorded it.
kinds() {
	local id=0f1e2d3c-0000-4000-8000-000000000002 n=1 call end
	event() {
		printf '{"timestamp":"2026-11-21T08:00:%02d.000000Z","event_id":"00000000-0000-4000-8000-0000000000%02d","run_id":"%s","parent_event_id":%s,"type":"%s","path":"%s","iteration":0,"payload":%s}\n' \
			"$1" "$1" "$id" "$([ "$2" = 0 ] && echo null || printf '"00000000-0000-4000-8000-0000000000%02d"' "$2")" "$3" "$4" "$5"
	}
	{
		event 1 0 run.started '' '{"name":"kinds","attempt":1}'
		while read -r call end; do
			event $((n + 1)) 1 step.started "$call" "{\"name\":\"$call\",\"kind\":\"command\",\"call\":\"$call:0:0\",\"attempt\":1}"
			event $((n + 2)) $((n + 1)) step.completed "$call" "{\"name\":\"$call\",\"kind\":\"command\",\"call\":\"$call:0:0\",$end,\"duration_ms\":1000}"
			n=$((n + 2))
		done <<-'END'
			c "error":{"code":"downstream_closed","message":"nobody reads it"}
			i "error":{"code":"interrupted","message":"killed"}
			l "error":{"code":"lost","message":"nobody knows"}
			r "result":"x","reused_from":{"run_id":"0f1e2d3c-0000-4000-8000-000000000003","event_id":"00000000-0000-4000-8000-000000000001"}
			s "skipped":"upstream_failed"
			t "error":{"code":"timeout","message":"took too long"}
		END
		# Recordings of before say only that it was skipped behind what waits.
		event 20 1 step.started w '{"name":"w","kind":"approval","call":"w:0:0","attempt":1}'
		event 21 20 step.completed w '{"name":"w","kind":"approval","call":"w:0:0","error":{"code":"waiting","message":"waits for a decision"},"approval":{"asks":"approval"}}'
		event 22 21 step.started u '{"name":"u","kind":"command","call":"u:0:0","attempt":1}'
		event 23 22 step.completed u '{"name":"u","kind":"command","call":"u:0:0","skipped":"upstream_failed"}'
		event 24 1 run.completed '' '{"status":"failed","exit_code":3,"error":{"code":"lost","message":"nobody knows"},"duration_ms":23000}'
	} | chain >"$AWF_STORAGE/transcripts/$id.jsonl"
	# In a run that has failed nobody is asked.
	table[11]=${table[11]//waiting/unfinished}
}

# A run of one group with branches that began in another order than that of their numbers, and of
# two steps whose many items began in turn.
mixed() {
	local id=0f1e2d3c-0000-4000-8000-000000000004 n=0 i
	{
		mixed_event 0 run.started '' 0 '{"name":"mixed","attempt":1}'
		mixed_event 1 step.started p 0 '{"name":"p","kind":"parallel","call":"p:0:0"}'
		for i in 10 2 0 1; do mixed_event 2 step.started p "$i" "{\"name\":\"p\",\"kind\":\"branch\",\"call\":\"p:0:0/p:0:$i\"}"; done
		for i in {0..12}; do
			mixed_event 1 step.started c "$i" "{\"name\":\"c\",\"kind\":\"command\",\"call\":\"c:0:$i\"}"
			mixed_event "$n" step.completed c "$i" "{\"name\":\"c\",\"call\":\"c:0:$i\"}"
			mixed_event 1 step.started "d$((i / 5))" $((4 - i % 5)) "{\"name\":\"d$((i / 5))\",\"kind\":\"command\",\"call\":\"d$((i / 5)):0:$((4 - i % 5))\"}"
		done
	} | chain >"$AWF_STORAGE/transcripts/$id.jsonl"
}

# PARENT TYPE PATH ITERATION PAYLOAD: the next event of mixed().
mixed_event() {
	n=$((n + 1))
	printf '{"timestamp":"2026-11-21T08:00:%02d.000000Z","event_id":"00000000-0000-4000-8000-0000000000%02d","run_id":"%s","parent_event_id":%s,"type":"%s","path":"%s","iteration":%s,"payload":%s}\n' \
		"$n" "$n" "$id" "$([ "$1" = 0 ] && echo null || printf '"00000000-0000-4000-8000-0000000000%02d"' "$1")" "$2" "$3" "$4" "$5"
}
in_tree_order() { awf-replay --tree @mixed | sed -nE '2,$s/^[^a-z]*([a-z0-9]+(\[[0-9]+\]| ×[0-9]+)?).*/\1/p' | paste -sd,; }

# NAME: its calls, as displays tell them.
in_tree() { awf-replay --tree "@$1" | sed -nE "2,\$s/^[├└─ ]*([a-z]+) [a-z]+ ($WORDS)( \\(.*|:.*)?$/\\1=\\2/p" | sort | xargs; }
in_timeline() {
	awf-replay --timeline "@$1" | sed -nE "3,\$s/^([a-z]+)  .*[0-9a-z]$/&/p" |
		sed -E "s/^([a-z]+) .* ($WORDS)$/\\1=\\2/; t; s/^([a-z]+) .*/\\1=done/" | sort | xargs
}
in_html() {
	awf-replay --timeline --html page.html "@$1"
	sed -nE "s/.*class=\"call is-([a-z]+)\".*<b>([a-z]+)<.*/\\2=\\1/p" page.html | sort | xargs
}

@test "every display tells the same state of a run, and of its calls" {
	local name status waits calls each
	runs
	serve
	same "$(awf-tail --list | wc -l)" "${#table[@]}"
	for each in "${table[@]}"; do
		case_is_chosen 4 || continue
		read -r name status waits calls <<<"$each"
		same "$name $(awf-tail --list | awk -v name="$name" '$1 == name { print $3 }')" "$name $status"
		same "$name $(awf-tail --list --json | jq -r "select(.name == \"$name\") | \"\\(.status) \\(.waits // [] | length)\"")" "$name $status $waits"
		same "$name $(awf-ctl list --json | jq -r "select(.name == \"$name\") | \"\\(.status) \\(.waits // [] | length)\"")" "$name $status $waits"
		same "$(awf-replay --tree "@$name" | head -n 1 | cut -d' ' -f1,2)" "$name $status"
		same "$(awf-replay --timeline "@$name" | head -n 1 | cut -d' ' -f1,2)" "$name $status"
		same "$name tree $(in_tree "$name")" "$name tree $calls"
		same "$name timeline $(in_timeline "$name")" "$name timeline $calls"
		same "$name html $(in_html "$name")" "$name html $calls"
		same "$(sed -n 's/.*class="status is-\([a-z]*\)".*/\1/p' page.html)" "$status"
		# A log tells each event, and the end if there is one.
		same "$name $(awf-tail "@$name" | sed -n 's/.*run completed (\([a-z]*\).*/\1/p')" \
			"$name $([[ $status == running || $status == died ]] || echo "$status")"
		same "$name $(ask "/api/runs/@$name" | jq -r '"\(.status) \(.waits | length) \(.waiting)"')" "$name $status $waits $waits"
		same "$name $(ask "/api/runs/@$name" | jq -r '.calls | del(.total) | with_entries(select(.value > 0)) | to_entries | sort_by(.key) | map("\(.key)=\(.value)") | join(" ")')" \
			"$name $(tr ' ' '\n' <<<"$calls" | sed 's/.*=//; s/^\(running\|unfinished\)$/open/; s/^done$/succeeded/' | sort | uniq -c | awk '{ print $2 "=" $1 }' | xargs)"
		same "$(ask /api/runs | jq -r ".runs[] | select(.name == \"$name\") | \"\\(.name) \\(.status) \\(.waiting)\"")" "$name $status $waits"
		same "$name $(ask "/api/runs?status=$status" | jq "[.runs[] | select(.name == \"$name\")] | length")" "$name 1"
	done
	for status in running waiting success failed cancelled timeout died; do
		same "$status $(ask /metrics | sed -n "s/^awf_runs{status=\"$status\"} //p")" \
			"$status $(printf '%s\n' "${table[@]}" | grep -c "^[a-z]* $status ")"
	done
	same "$(ask /metrics | sed -n 's/^awf_calls_waiting //p')" 2
	awf-ctl cancel @lives
}

@test "the page tells the same" {
	page_prepare
	runs
	serve
	page_drive states "${table[@]}"
	awf-ctl cancel @lives
}

@test "a page that is open while a run is ended with an approval open" {
	page_prepare
	setsid env --default-signal=INT awf-run -n --name stopped -c "$FLOW & awf-step -n b -q -- sleep 60; wait" </dev/null >/dev/null 2>&1 3>&- &
	runner=$!
	eventually begun stopped
	serve
	page_drive ends "$runner" 'stopped cancelled 0 b=cancelled go=unfinished last=unfinished ok=unfinished'
}

@test "the page lists items, rounds and branches as trees do" {
	page_prepare
	mkdir -p "$AWF_STORAGE/transcripts"
	mixed
	same "$(in_tree_order)" 'p,p[0],p[1],p[2],p[10],c ×13,d0,d0[1],d0[2],d0[3],d0[4],d1,d1[1],d1[2],d1[3],d1[4],d2[2],d2[3],d2[4]'
	serve
	page_drive mixed "$(in_tree_order)"
}
