#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-replay: what it shows of a recorded run.
# shellcheck disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

BRIEF=6f1c2a80-5b1e-4a7d-9c34-0d2f6b7e8a91
NESTED=b7e0c3d2-91aa-4f06-8e55-3c4d5e6f7081
RELEASE=3d2c7a10-64b8-4f0e-9a51-7c0de1f2a3b4

# The recorded runs: one with a group and a child, one with two attempts and much that
# can go wrong.
prepare() {
	mkdir -p "$AWF_STORAGE/transcripts"
	record brief "$BRIEF"
	record nested "$NESTED"
	record release "$RELEASE"
}

record() {
	chain <"$ROOT/tests/fixtures/$1.events" >"$AWF_STORAGE/transcripts/$2.jsonl"
}

# A real run: four agents at a time, each with two tool calls at once, and commands.
concurrent() {
	mkdir -p tools
	printf '#!/bin/sh\ncat >/dev/null\necho seen\n' >tools/look
	printf '{"name":"look","description":"looks","concurrent":true,"input_schema":{"type":"object"}}\n' >tools/look.tool.json
	chmod +x tools/look
	printf -- '---\nname: one\nmodel: replay/%s\ntools: [look]\n---\nLook.\n' "$PWD/answers" >one.md
	for item in a b c d e f; do
		printf '{"match":"item %s","blocks":[%s,%s]}\n' $item \
			'{"type":"tool_use","tool_id":"1","tool_name":"look","tool_input":{}}' \
			'{"type":"tool_use","tool_id":"2","tool_name":"look","tool_input":{}}'
		printf '{"match":"item %s","blocks":[{"type":"text","text":"done %s"}]}\n' $item $item
	done >answers
	awf-run -c 'printf "item %s\n" a b c d e f | awf-step -i lines -j 4 first -- cat |
		awf-step -j 4 -a one.md ask | awf-step -s last -r -- wc -l' >/dev/null
	transcript
}

# A transcript of events that stand here as "ID PARENT LINKS TYPE PAYLOAD": one digit
# for an id, - for none.
events() {
	local id parent links type payload
	uuid() { sed 's/[0-9]/"00000000-0000-4000-8000-00000000000&"/g; s/-$/null/' <<<"$1"; }
	while read -r id parent links type payload; do
		printf '{"timestamp":"2026-11-21T08:00:00.000000Z","event_id":%s,"run_id":%s,"parent_event_id":%s,' \
			"$(uuid "$id")" "$(uuid 1)" "$(uuid "$parent")"
		[ "$links" = - ] || printf '"links":[%s],' "$(uuid "$links")"
		printf '"type":"%s","path":"","iteration":0,"payload":%s}\n' "$type" "${payload:-null}"
	done | chain
}

refused() {
	run "-$1" --separate-stderr awf-replay "${@:3}"
	same "$output" ''
	same "$stderr" "awf-replay: $2"
}

# Whether it has the canonical bytes that it has however its lines are interleaved.
interleaved() {
	local file=$1 count=$2 seed
	awf-replay --canonical "$file" >canonical
	same "$(wc -l <canonical)" "$(wc -l <"$file")"
	same "$(awf-replay --order causal "$file" | cut -d, -f3)" "$(cut -d, -f1 canonical | tr -d '{')"
	for seed in $(seq "$count"); do
		python3 -S "$ROOT/tests/support/interleave.py" "$seed" <"$file" >other.jsonl
		awf-replay --canonical other.jsonl | cmp - canonical
		cut -d, -f3 other.jsonl | sha256sum
	done >orders
	[ "$(sort -u orders | wc -l)" -ge $((count * 9 / 10)) ]
}

@test "one recording, written in 50 other interleavings: the same canonical bytes" {
	interleaved "$(concurrent)" "$(rounds 5 50)"
	awf-verify -q other.jsonl
}

@test "a group, two attempts, a type of tomorrow in other interleavings" {
	interleaved "$AWF_STORAGE/transcripts/$RELEASE.jsonl" "$(rounds 1 10)"
	interleaved "$AWF_STORAGE/transcripts/$BRIEF.jsonl" "$(rounds 1 10)"
}

@test "--canonical: without time and seals, the rest byte for byte" {
	events >t.jsonl <<-'END'
		1 - - run.started {"name":"n","attempt":1,"z":1.50,"a":"\u00e9"}
		2 1 - step.started {"call":"a:0:0","attempt":1,"input":{"duration_ms":5,"seq":1}}
		3 2 - step.completed {"call":"a:0:0","result":{"duration_ms":7},"duration_ms":9,"retries":[{"code":"x","duration_ms":3,"turn":0},{"duration_ms":1}]}
		4 1 - run.completed {"status":"success","duration_ms":4,"seal":{"algorithm":"ed25519","signature":"00"}}
	END
	run -0 awf-replay --canonical t.jsonl
	same "$output" '{"event_id":"00000000-0000-4000-8000-000000000001","run_id":"00000000-0000-4000-8000-000000000001","parent_event_id":null,"type":"run.started","path":"","iteration":0,"payload":{"name":"n","attempt":1,"z":1.50,"a":"\u00e9"}}
{"event_id":"00000000-0000-4000-8000-000000000002","run_id":"00000000-0000-4000-8000-000000000001","parent_event_id":"00000000-0000-4000-8000-000000000001","type":"step.started","path":"","iteration":0,"payload":{"call":"a:0:0","attempt":1,"input":{"duration_ms":5,"seq":1}}}
{"event_id":"00000000-0000-4000-8000-000000000003","run_id":"00000000-0000-4000-8000-000000000001","parent_event_id":"00000000-0000-4000-8000-000000000002","type":"step.completed","path":"","iteration":0,"payload":{"call":"a:0:0","result":{"duration_ms":7},"retries":[{"code":"x","turn":0},{}]}}
{"event_id":"00000000-0000-4000-8000-000000000004","run_id":"00000000-0000-4000-8000-000000000001","parent_event_id":"00000000-0000-4000-8000-000000000001","type":"run.completed","path":"","iteration":0,"payload":{"status":"success"}}'
}

@test "--order: lines unchanged; seq brings the order of the file back" {
	file=$(concurrent)
	# shellcheck disable=SC2094 # they are different files
	awf-replay --order causal "$file" >causal
	run -1 cmp -s causal "$file"
	sort causal | cmp - <(sort "$file")
	awf-replay --order seq causal | cmp - "$file"
	shuf causal >shuffled
	awf-replay --order causal shuffled | cmp - causal
}

@test "--order causal: attempts one after the other, whatever their ids" {
	events >t.jsonl <<-'END'
		9 - - run.started {"attempt":1}
		8 9 - step.started {"call":"a:0:0","attempt":1}
		7 9 - step.started {"call":"b:0:0","attempt":1}
		6 8 - step.completed {"call":"a:0:0"}
		5 - - run.started {"attempt":2}
		2 6 - step.started {"call":"c:0:0","attempt":2}
		1 2 7 message.user {}
		3 5 - run.completed {}
	END
	same "$(awf-replay --order causal t.jsonl | jq -r '.event_id[-1:]' | tr -d '\n')" 97865213
}

@test "--order causal: what goes on with an earlier attempt is of the later one" {
	events >t.jsonl <<-'END'
		4 - - run.started {"attempt":1}
		5 4 - step.started {"call":"a:0:0","attempt":1}
		6 5 - message.assistant {}
		9 - - run.started {"attempt":2}
		8 9 - step.started {"call":"a:0:0","attempt":2}
		2 6 8 tool.call {}
		1 2 - tool.result {}
		3 8 - step.completed {"call":"a:0:0"}
	END
	same "$(awf-replay --order causal t.jsonl | jq -r '.event_id[-1:]' | tr -d '\n')" 45698213
}

# bats test_tags=turn:2
@test "causes that make no order name the event" {
	id=00000000-0000-4000-8000-00000000000
	start='1 - - run.started {"attempt":1}'
	while IFS='|' read -r message events; do
		printf '%s\n' "$start" "${events//;/$'\n'}" | sed 's/; /\n/g' | events >t.jsonl
		for display in '--order causal' --canonical; do
			# shellcheck disable=SC2086 # two words
			refused 3 "${message//ID/$id}" $display t.jsonl
		done
	done <<-'END'
		ID3: the parent of this message.user (seq 2), event ID2, is not recorded|3 2 - message.user
		ID4: the link of this step.started (seq 3), event ID9, is not recorded|3 1 - step.started;4 3 3,9 step.started
		ID2: this step.started (seq 2) has no parent|2 - - step.started
		ID2: this message.user (seq 2) is a cause of itself|2 2 - message.user
		ID2: this message.user (seq 2) is a cause of itself, by way of ID3|2 3 - message.user;3 2 - message.user;4 3 - message.user
		ID3: this message.user (seq 3) is a cause of itself, by way of ID4|2 1 - step.started;3 2 4 message.user;4 3 2 message.user
		ID2: this event is recorded twice, as seq 2 and 3|2 1 - step.started;2 1 - step.started
		ID3: the link of this step.started (seq 2), event ID2, is of the later attempt 2|3 1 2 step.started {"attempt":1};2 - - run.started {"attempt":2}
		ID3: the parent of this message.user (seq 3), event ID2, is the end of the same attempt 1|2 1 - run.completed;3 2 - message.user
	END
}

@test "damaged recordings, and a line that is being written" {
	file=$AWF_STORAGE/transcripts/$NESTED.jsonl
	sed '3s/"payload"/payload/' "$file" >t.jsonl
	refused 1 "t.jsonl: line 3 is damaged: it is no event (see awf-verify)" --canonical t.jsonl
	sed '2s/^{"seq":2/{"sep":2/' "$file" >t.jsonl
	refused 1 "t.jsonl: line 2 is damaged: it is not whole (see awf-verify)" --order seq t.jsonl
	sed '4s/"event_id":"0/"event_id":"X/' "$file" >t.jsonl
	refused 1 "t.jsonl: line 4 is damaged: its ids are no UUIDs (see awf-verify)" --order causal t.jsonl
	head -c -9 "$file" >t.jsonl
	awf-replay --order seq t.jsonl | cmp - <(head -n 3 "$file")
	: >empty.jsonl
	for display in '--order seq' '--order causal' --canonical; do
		# shellcheck disable=SC2086 # two words
		same "$(awf-replay $display empty.jsonl)" ''
	done
}

@test "--tree and --timeline of the recorded runs" {
	for run in "brief $BRIEF" "release $RELEASE"; do
		read -r name id <<<"$run"
		for display in tree timeline; do
			COLUMNS=100 awf-replay "--$display" "$id" | diff "$ROOT/tests/fixtures/replay/$name.$display" -
		done
	done
	# A clock that is set in the midst of a call makes it no longer.
	jq -nc '[inputs] | to_entries[] | .key as $at | .value |
		if $at >= 16 then .timestamp |= sub("2026-11-21"; "2027-03-01") end' "$ROOT/tests/fixtures/release.events" |
		chain >set.jsonl
	awf-replay --tree set.jsonl | grep -q 'commit .* done (30ms)'
	COLUMNS=100 awf-replay --timeline set.jsonl | grep -q '^commit .* 30ms'
	echo 'anthropic/* 3 15' >prices
	AWF_PRICES=$PWD/prices awf-replay --timeline --html page.html "$BRIEF" >out
	[ ! -s out ]
	sed '/<style>/,/<\/style>/d' page.html | diff "$ROOT/tests/fixtures/replay/brief.html" -
	# Without prices it has no costs, and all else.
	echo bad >prices
	AWF_PRICES=$PWD/prices run -0 --separate-stderr awf-replay --timeline --html other.html "$BRIEF"
	[[ $stderr == "awf-replay: $PWD/prices:1: "* ]]
	[[ $(grep -c details page.html) = "$(grep -c details other.html)" && $(<page.html) == *'$0.'* && $(<other.html) != *'$0.'* ]]
}

# Events of a run of one call and what is told of it, as --tree prints it.
tree() {
	events >t.jsonl
	awf-replay --tree t.jsonl
}

@test "--tree: how calls end" {
	same "$(tree <<-'END'
		1 - - run.started {"name":"n","attempt":1}
		2 1 - step.started {"name":"a","kind":"command","call":"a:0:0","attempt":1,"blocks":[{"type":"command","command":"make\nall"}]}
		3 2 - step.completed {"call":"a:0:0","result":1,"retries":[{},{}]}
		4 1 - step.started {"name":"b","kind":"operation","tool":"look","call":"b:0:0","attempt":1}
		5 4 - step.completed {"call":"b:0:0","reused_from":"00000000-0000-4000-8000-000000000003"}
		6 1 - step.started {"name":"c","kind":"agent","call":"c:0:0","attempt":1,"provider":"p"}
		7 6 - tool.call {"name":"t","input":{"x":1}}
		8 1 - step.started {"name":"d","kind":"command","call":"d:0:0","attempt":1}
		9 8 - step.completed {"call":"d:0:0","error":"odd"}
	END
	)" 'n died (00000000-0000-4000-8000-000000000001, 2026-11-21)
├─ a command done (0ms, 2 retries): make…
├─ b operation reused: look
├─ c agent unfinished (p)
│  └─ t unfinished: {"x":1}
└─ d command failed (0ms): odd'
}

@test "--tree and the time line tell calls of one name apart by their directories and variables" {
	mkdir eu us
	awf-run -n -c 'export SAME=1; for d in eu us; do for STAGE in test prod; do export STAGE TOKEN=0x$STAGE-$d
		(cd $d; awf-step -n -q deploy -- true); done; done; (cd eu; awf-step -n -q other -- true); awf-step -n -q deploy -- true'
	run -0 awf-replay --tree @
	same "$(grep -o '[a-z]* command done (.*)' <<<"$output" | sed -E 's/(, |\()[0-9.]+m?s\)/)/')" \
'deploy command done (in eu, STAGE=test, TOKEN)
deploy command done (in eu, STAGE=prod, TOKEN)
deploy command done (in us, STAGE=test, TOKEN)
deploy command done (in us, STAGE=prod, TOKEN)
other command done )
deploy command done (in ., STAGE=prod, TOKEN)'
	awf-replay --timeline --html page.html @
	grep -q 'deploy</b>.* in us, STAGE=prod, TOKEN ·' page.html
}

@test "--tree: many items of a step are counted, and those that did not end well shown; --all" {
	local i
	{
		printf '%s\n' '00 1 - run.started {"name":"n","attempt":1}'
		# Of two steps in turn, after another one: id 10 + i begins an item, 40 + i ends it.
		printf '%s\n' '01 2 1 step.started {"name":"a","kind":"k","call":"a:0:0"}' '01 3 2 step.completed {"call":"a:0:0"}'
		for i in {10..21}; do
			printf '02 %s 1 step.started {"name":"b","kind":"k","call":"b:0:%s"}\n' "$i" $((i - 10))
			((i > 20)) || printf '02 %s 1 step.started {"name":"c","kind":"k","call":"c:0:%s"}\n' $((i + 60)) $((i - 10))
		done
		for i in {10..20}; do
			end=
			[ "$i" != 12 ] || end=',"error":{"code":"x","message":"y"}'
			[ "$i" != 13 ] || end=',"skipped":"when"'
			printf '04 %s %s step.completed {"call":"b:0:%s"%s}\n' $((i + 30)) "$i" $((i - 10)) "$end"
		done
		printf '%s\n' '05 90 1 step.started {"name":"d","kind":"k","call":"d:0:0"}' '05 91 90 step.started {"name":"d","kind":"k","call":"d:0:0/d:0:0"}'
	} | while read -r second id parent type payload; do
		[ "$parent" = - ] && parent=null || parent="\"$(printf '00000000-0000-4000-8000-%012d' "$parent")\""
		printf '{"timestamp":"2026-11-21T08:00:%s.000000Z","event_id":"00000000-0000-4000-8000-%012d","run_id":"%s","parent_event_id":%s,"type":"%s","path":"%s","iteration":0,"payload":%s}\n' \
			"$second" "$id" "$BRIEF" "$parent" "$type" "$(jq -r '.name // ""' <<<"$payload")" "$payload"
	done | chain >t.jsonl
	same "$(awf-replay --tree t.jsonl | tail -n +2 | head -n 5)" '├─ a k done (0ms)
├─ b ×12: 9 ✓ 1 – 1 ? 1 ✗ (3.0s)
│  ├─ b k failed (2.0s): x: y
│  └─ b k unfinished
├─ c k unfinished'
	same "$(awf-replay --tree t.jsonl | tail -n 2)" '└─ d k unfinished
   └─ d[0] k unfinished'
	same "$(awf-replay --tree t.jsonl | wc -l)" 18
	same "$(awf-replay --tree --all t.jsonl | wc -l)" 27
	# The timeline has the same rows; those of a series are one bar, from the first to the last.
	same "$(awf-replay --timeline t.jsonl | sed -n '3,7s/^\( *[a-z][^ ]*\)\( ×12\)\? .* /\1\2 /p')" \
		$'a 0ms\nb ×12 ✗\n  b failed\n  b unfinished\nc unfinished'
	same "$(awf-replay --timeline t.jsonl | wc -l)" 20
	same "$(awf-replay --timeline --all t.jsonl | wc -l)" 29
	[[ $(awf-replay --tree --color always t.jsonl) == *$'b ×12: \e[31m9 ✓ 1 – 1 ? 1 ✗\e[0m (3.0s)'* ]]
	# A timeline has the same rows.
	same "$(awf-replay --timeline t.jsonl | grep -c '^ *[bc]')" 14
	[[ $(awf-replay --timeline t.jsonl) == *$'\nb ×12 '*' 3.0s 9 ✓ 1 – 1 ? 1 ✗'*$'\n  b '*' 2.0s failed'*$'\n  b '* ]]
	same "$(awf-replay --timeline --all t.jsonl | grep -c '^ *[bc]')" 23
	[[ $(awf-replay --timeline --color always t.jsonl) == *$'\nb ×12 '*$'\e[31m█'* ]]
}

@test "--tree, --timeline: items, rounds and branches stand by their numbers, those of several steps in turn" {
	does() { printf '%s' "\"blocks\":[{\"type\":\"command\",\"command\":\"$1\"}]"; }
	same "$(tree <<-END | sed -n 's/[^a-z]*.* unfinished: //p' | paste -sd' '
		1 - - run.started {"name":"n","attempt":1}
		2 1 - step.started {"name":"g","kind":"k","call":"g:0:0",$(does group)}
		3 2 - step.started {"name":"g","kind":"k","call":"g:0:0/g:0:2",$(does two)}
		4 2 - step.started {"name":"g","kind":"k","call":"g:0:0/g:0:0",$(does zero)}
		5 4 - step.started {"name":"x","kind":"k","call":"g:0:0/g:0:0/x:0:0",$(does inside)}
		6 2 - step.started {"name":"g","kind":"k","call":"g:0:0/g:0:1",$(does one)}
		7 1 - step.started {"name":"a","kind":"k","call":"a:0:10",$(does tenth)}
		8 1 - step.started {"name":"b","kind":"k","call":"b:0:0",$(does other)}
		9 1 - step.started {"name":"a","kind":"k","call":"a:0:9",$(does ninth)}
	END
	)" 'group zero inside one two ninth other tenth'
}

@test "what was cancelled is called so by lists, trees, timelines and awf-tail" {
	run -3 --separate-stderr awf-run -n --name group -c 'awf-step -n --parallel -q p -- false "sleep 60"'
	awf-replay --tree | grep -q '─ p\[1\] parallel cancelled ('
	awf-replay --timeline | grep -q '^  p\[1\] .*/.* cancelled$'
	awf-replay --timeline --html page.html
	grep -q 'is-cancelled' page.html
	awf-tail | grep -q ' p\[1\] cancelled ('
	awf-run -n --name ended -c 'awf-step -n wait -- sleep 60' &
	until awf-tail --json --type step.started @ended 2>/dev/null | grep -q wait; do sleep 0.02; done
	kill $!
	wait $! || [ $? = 143 ]
	[[ $(awf-tail --list -n 1) == *' cancelled '* ]]
	[[ $(awf-replay --tree @ended) == 'ended cancelled ('*$'\n'*'─ wait command cancelled ('* ]]
	[[ $(awf-replay --timeline @ended) == 'ended cancelled ('*'/ cancelled' ]]
}

@test "branches of a group stand in the order of their numbers, whichever began first" {
	local i
	events >t.jsonl <<-END
		1 - - run.started {"name":"n","attempt":1}
		2 1 - step.started {"name":"p","kind":"parallel","call":"p:0:0"}
		$(for i in 10 2 0 1; do echo "3 2 - step.started {\"name\":\"p\",\"kind\":\"branch\",\"call\":\"p:0:0/p:0:$i\"}"; done)
		7 1 - step.started {"name":"q","kind":"k","call":"q:0:0"}
	END
	sed -i 's/"path":"","iteration":0\(.*"name":"p".*"call":"[^"]*:\([0-9]*\)"\)/"path":"p","iteration":\2\1/' t.jsonl
	same "$(awf-replay --tree t.jsonl | grep -o '[pq]\[[0-9]*\]\|q k')" $'p[0]\np[1]\np[2]\np[10]\nq k'
	same "$(awf-replay --timeline t.jsonl | grep -o '^ *[pq]\(\[[0-9]*\]\)\?')" $'p\n  p[0]\n  p[1]\n  p[2]\n  p[10]\nq'
	awf-replay --timeline --html page.html t.jsonl
	same "$(grep -o '<b>[pq][^<]*' page.html)" $'<b>p\n<b>p[0]\n<b>p[1]\n<b>p[2]\n<b>p[10]\n<b>q'
}

@test "--tree: what tells of no attempt, no call, or twice" {
	same "$(tree <<-'END'
		2 - - step.started {"name":"a","kind":"k","call":"a:0:0"}
		3 2 - tool.call {"name":"t"}
		4 3 - tool.result {"name":"t"}
		5 3 - tool.result {"name":"t","error":{"code":"x","message":"y"}}
		6 2 - step.completed {"call":"a:0:0"}
		7 6 - step.completed {"call":"a:0:0","error":{"code":"x","message":"y"}}
		8 2 - step.completed {"call":"b:0:0"}
		9 2 - later {}
	END
	)" 'run died (00000000-0000-4000-8000-000000000001, 2026-11-21)
└─ a k done (0ms)
   └─ t done (0ms)'
	same "$(tree </dev/null 2>&1 || echo "$?")" "awf-replay: t.jsonl: no whole line is in it
1"
}

@test "what came from outside is harmless on a terminal and in a page" {
	events >t.jsonl <<-'END'
		1 - - run.started {"name":"\u001b[2J<b>","attempt":1}
		2 1 - step.started {"name":"a&b","kind":"<i>","call":"\"x'","attempt":1,"blocks":[{"command":"\u202e<script>alert(1)</script>"}]}
		3 2 - step.completed {"call":"\"x'","error":{"code":"c","message":"<img src=x>\u0007"}}
	END
	same "$(awf-replay --tree --color always t.jsonl)" $'\\x1b[2J<b> \e[31mdied\e[0m (00000000-0000-4000-8000-000000000001, 2026-11-21)
└─ a&b <i> \e[31mfailed\e[0m (0ms): c: <img src=x>\\x07'
	[[ $(awf-replay --timeline t.jsonl) == *'a&b '*'0ms failed'* ]]
}

# What a page of TRANSCRIPT is made of: nothing but these elements, attributes and addresses.
page() {
	awf-replay --timeline --html page.html "$1"
	python3 - <<-'END'
		import re
		from html.parser import HTMLParser
		class Check(HTMLParser):
		    open, void = [], {"meta", "img"}
		    tags = set("html head meta style title body section div h1 h2 h4 p dl dt dd span i b a code pre ul li "
		        "details summary figure figcaption img".split())
		    values = {"class": "[a-z -]+", "id": "e[0-9]+", "href": "#e[0-9]+", "open": None, "alt": "", "lang": "en",
		        "style": r"(--d:\d+|--tick:[\d.]+%|left:[\d.]+%(;width:[\d.]+%)?)", "aria-hidden": "true",
		        "src": "data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+"}
		    def handle_starttag(self, tag, attrs):
		        assert tag in self.tags, tag
		        for name, value in attrs if tag != "meta" else []:
		            assert name in self.values, name
		            assert value is None or re.fullmatch(self.values[name], value), (name, value)
		        if tag not in self.void:
		            self.open.append(tag)
		    def handle_endtag(self, tag):
		        assert self.open.pop() == tag, tag
		    def handle_comment(self, data):
		        assert False, data
		text = open("page.html").read()
		assert all(c in "\n\t" or c >= " " for c in text) and not re.search("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
		check = Check()
		check.feed(text)
		check.close()
		assert check.open == []
	END
}

@test "nothing that came from outside is markup in a page" {
	# Each of these stands wherever the vocabulary leaves a text free.
	python3 - <<-'END' >lines
		import itertools, json
		attacks = itertools.cycle(["<img src=x onerror=alert(1)>", "</pre></details><script>alert(1)</script>", "<!--",
		    "\" onmouseover='alert(1)", "</style><style>*{display:none}", "&lt;b&gt;", "javascript:alert(1)",
		    "\u202e\u2066\x1b[31m\x00\x9b", "<a href=javascript:alert(1)>", "]]><svg onload=alert(1)>"])
		fixed = {"call", "type", "code", "media_type", "data"}
		def bad(value, key=""):
		    if isinstance(value, str):
		        return value if key in fixed else value + next(attacks)
		    if isinstance(value, list):
		        return [bad(each, key) for each in value]
		    if isinstance(value, dict):
		        return {**{name: bad(each, name) for name, each in value.items()},
		            **({next(attacks): next(attacks)} if key in ("input", "output", "result", "inputs") else {})}
		    return value
		def event(number, parent, type, payload):
		    print(number, parent, "-", type, json.dumps(bad(payload)))
		event(1, "-", "run.started", {"name": "n", "attempt": 1, "argv": ["sh"], "directory": "/d", "inputs": {"k": "v"}})
		event(2, 1, "step.started", {"name": "a", "kind": "agent", "call": "a:0:0", "agent": "x", "provider": "p", "model": "m",
		    "input": {"k": "v"}, "blocks": [{"command": "c"}], "effects": "none", "condition": {"when": "w"}})
		event(3, 2, "message.user", {"blocks": [{"type": "text", "text": "t"}, {"type": "image", "media_type": "image/png", "name": "n",
		    "data": "iVBORw0KGgo"}, {"type": "image", "media_type": "image/svg+xml", "data": "PHN2Zz4="}, {"x": "y"}], "system_prompt": "s"})
		event(4, 3, "message.assistant", {"blocks": [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "t"},
		    {"type": "tool_use", "tool_name": "t"}], "model": "m", "stop_reason": "s", "agent": "b"})
		event(5, 4, "tool.call", {"name": "edit", "input": {"file_path": "f", "old_string": "a\nb", "new_string": "a\nc"}, "warning": "w"})
		event(6, 5, "tool.result", {"output": {"o": "p"}, "stderr": "e", "changed": [{"path": "p", "change": "c", "added": 1}]})
		event(7, 2, "step.completed", {"call": "a:0:0", "result": "r", "error": {"code": "c", "message": "m"}, "stderr": "e",
		    "retries": [{"code": "c"}], "approval": {"by": "b"}, "skipped": "s", "reason": "r"})
		event(8, 1, "step.started", {"name": "b", "kind": "k", "call": "\"'><b", "blocks": [{"command": "c"}]})
	END
	events <lines >t.jsonl
	page t.jsonl
	[ "$(grep -o '&lt;script&gt;' page.html | wc -l)" -ge 4 ]
	same "$(grep -o '<img src="[^"]*"' page.html)" '<img src="data:image/png;base64,iVBORw0KGgo"'
}

@test "a long text in a row of a page is cut between characters" {
	local xs as
	xs=$(printf 'x%.0s' {1..100}) as=$(printf 'ä%.0s' {1..25})
	events >t.jsonl <<-END
		1 - - run.started {"name":"n","attempt":1}
		2 1 - step.started {"name":"a","kind":"k","call":"a:0:0","attempt":1}
		3 2 - step.completed {"call":"a:0:0","error":{"code":"c","message":"$xs$as"}}
	END
	page t.jsonl
	same "$(grep -o '<span class="about">.*…</span>' page.html)" "<span class=\"about\"> failed · c: $xs${as:0:16}…</span>"
}

@test "a page says where it leaves out much" {
	python3 - <<-'END' >lines
		import json
		def event(number, parent, type, payload, more=""):
		    print(number, parent, "-", type, json.dumps(payload) + more)
		def lines(name):
		    return "\n".join(f"{name}{i}" for i in range(300))
		event(1, "-", "run.started", {"name": "n", "attempt": 1})
		event(2, 1, "step.started", {"name": "a", "kind": "agent", "call": "a:0:0", "input": {f"key{i}": i for i in range(61)}})
		event(3, 2, "message.user", {"blocks": [{"type": "text", "text": f"block{i}"} for i in range(61)]})
		event(4, 2, "message.assistant", {"blocks": [{"type": "image", "media_type": "image/png", "data": "not base64"}]})
		event(5, 4, "tool.call", {"name": "edit", "input": {"path": "f", "old_str": lines("a"), "new_str": lines("b")}})
		event(8, 4, "tool.call", {"name": "edit", "input": {"path": "f", "old_str": "1\n.\n.\n.\nleft\n.\n.\n.\n9", "new_str": "a\n.\n.\n.\nleft\n.\n.\n.\ni"}})
		event(6, 5, "tool.result", {"output": "x", "changed": [{"path": f"file{i}"} for i in range(61)], "changed_more": 2})
		event(7, 2, "step.completed", {"call": "a:0:0", "result": None},
		    ',"refs":[{"at":"/payload/result","sha256":"%s","bytes":2000000,"encoding":"json"}]' % ("0" * 64))
	END
	events <lines >t.jsonl
	page t.jsonl
	for each in 'dt>key' '>block' 'code>file'; do
		same "$each $(grep -o "$each" page.html | wc -l)" "$each 60"
	done
	for each in '<dt>…</dt>' '<p class="note">…</p>' '<li>3 more</li>' '>… 200 lines more$' '>… 1 line$' \
		'>1.9 MiB, to be had by awf-replay --state<'; do
		same "$each $(grep -c "$each" page.html)" "$each 1"
	done
	grep -q '<figure><figcaption>' page.html
}

@test "child runs: each attempt once, below the call it began in" {
	child=00000000-0000-4000-8000-000000000007
	# Two attempts of a parent, each with a call that names the child; two of the child.
	{
		printf '%s\n' '01 1 - run.started {"name":"p","attempt":1}' \
			'02 2 1 step.call_workflow.started {"name":"w","kind":"call_workflow","call":"w:0:0"}' \
			'05 3 - run.started {"name":"p","attempt":2}' \
			'06 4 3 step.call_workflow.started {"name":"w","kind":"call_workflow","call":"w:0:0"}' \
			'09 5 4 step.call_workflow.completed {"call":"w:0:0","result":1}'
	} | timed "$NESTED" "$child" >parent.jsonl
	{
		printf '%s\n' '03 1 - run.started {"name":"c","attempt":1}' \
			'04 2 1 step.started {"name":"one","kind":"k","call":"one:0:0"}' \
			'07 3 - run.started {"name":"c","attempt":2}' \
			'08 4 3 step.call_workflow.started {"name":"two","kind":"k","call":"two:0:0"}'
	} | timed "$child" "$child" >"$child.jsonl"
	same "$(awf-replay --tree parent.jsonl)" "p died ($NESTED, 2026-11-21)
├─ attempt 1 died
│  └─ w call_workflow unfinished (run 00000000)
│     └─ one k unfinished
└─ attempt 2 died
   └─ w call_workflow done (3.0s, run 00000000)
      └─ two k unfinished (run 00000000)"
	# Two that are each other's child: each stands there once.
	timed "$child" "$NESTED" >"$child.jsonl" <<-'END'
		03 1 - run.started {"name":"c","attempt":1}
		04 2 1 step.call_workflow.started {"name":"back","kind":"k","call":"two:0:0"}
	END
	timed "$NESTED" "$child" >"$NESTED.jsonl" <<-'END'
		01 1 - run.started {"name":"p","attempt":1}
		02 2 1 step.call_workflow.started {"name":"w","kind":"k","call":"w:0:0"}
	END
	same "$(awf-replay --tree "$NESTED.jsonl")" "p died ($NESTED, 2026-11-21)
└─ w k unfinished (run 00000000)
   └─ back k unfinished (run b7e0c3d2)"
	rm "$child.jsonl"
	run -0 --separate-stderr awf-replay --tree parent.jsonl
	same "${stderr%%$'\n'*}" "awf-replay: ./$child.jsonl: child run has no transcript"
}

# Lines of "SECOND ID PARENT TYPE PAYLOAD" as the transcript of a run whose calls of
# workflows name a child.
timed() {
	local run=$1 child=$2 second id parent type payload
	while read -r second id parent type payload; do
		[ "$parent" = - ] && parent=null || parent="\"${run%?}$parent\""
		printf '{"timestamp":"2026-11-21T08:00:%s.000000Z","event_id":"%s","run_id":"%s",' \
			"$second" "${run%?}$id" "$run"
		[[ $type != *.started || $type == run.* || $payload == *one* ]] || printf '"child_run_id":"%s",' "$child"
		printf '"parent_event_id":%s,"type":"%s","path":"","iteration":0,"payload":%s}\n' \
			"$parent" "$type" "$payload"
	done | chain
}

@test "--timeline: a call that never ended was there until the last that is known" {
	printf '%s\n' '00 1 - run.started {"attempt":1}' \
		'01 2 1 step.started {"name":"one","kind":"agent","call":"one:0:0"}' \
		'04 3 2 message.assistant {}' |
		timed "$NESTED" - >t.jsonl
	same "$(COLUMNS=50 awf-replay --timeline t.jsonl | tail -n +2)" '         0              2.0s
one             ??????????????????????? unfinished
? unfinished'
}

@test "groups in groups without end stand beside each other at last" {
	{
		echo '1 1 - run.started {"attempt":1}'
		for i in $(seq 2 300); do
			printf '1 %s %s step.started {"name":"g","kind":"k","call":"g:%s:0"}\n' "$i" $((i - 1)) "$i"
		done
	} | while read -r second id parent type payload; do
		[ "$parent" = - ] && parent=null || parent="\"$(printf '00000000-0000-4000-8000-%012d' "$parent")\""
		printf '{"timestamp":"2026-11-21T08:00:01.000000Z","event_id":"00000000-0000-4000-8000-%012d","run_id":"%s","parent_event_id":%s,"type":"%s","path":"","iteration":0,"payload":%s}\n' \
			"$id" "$BRIEF" "$parent" "$type" "$payload"
	done | chain >t.jsonl
	awf-replay --tree t.jsonl >tree
	same "$(grep -c 'g k unfinished$' tree)" 299
	same "$(awk '{ n = index($0, "g"); if (n > most) most = n } END { print (most <= 4 * 128) }' tree)" 1
	same "$(awf-replay --timeline t.jsonl | grep -c '^ *g  *?  *unfinished$')" 299
}

@test "a run that is going on" {
	mkfifo go
	awf-run -c 'echo x | awf-step -q done -- cat; echo y | awf-step -q slow -- cat go' 3>&- &
	pid=$!
	eventually grep -q '"slow:0:0"' "$(until transcript 2>/dev/null | grep .; do sleep 0.01; done)"
	awf-replay --tree >tree
	grep -q '^pipeline running (' tree
	grep -q '├─ done command done ([0-9.]*m\?s): cat$' tree
	grep -q '└─ slow command running ([0-9.]*m\?s): cat go$' tree
	awf-replay --timeline | grep -q '^slow .*▒.* running$'
	same "$(awf-replay --state slow)" '{"call":"slow:0:0","attempt":1,"input":"y","unfinished":true}'
	awf-replay --canonical | grep -q '"slow:0:0"'
	echo z >go
	wait "$pid"
	same "$(awf-replay --state slow)" '{"call":"slow:0:0","attempt":1,"input":"y","output":"z"}'
	awf-replay --tree | grep -q '^pipeline success '
}

@test "--state: inputs that were results, several calls, blobs, bytes, errors" {
	awf-run -c 'printf "1\n2\n" | awf-step -i lines a -- sed s/^/x/ | awf-step b -- tr x y |
		awf-step -q -s c -- cat' >/dev/null
	same "$(awf-replay --state b)" '{"call":"b:0:0","attempt":1,"input":"x1","output":"y1"}
{"call":"b:0:1","attempt":1,"input":"x2","output":"y2"}'
	same "$(awf-replay --state b:0:1)" '{"call":"b:0:1","attempt":1,"input":"x2","output":"y2"}'
	same "$(awf-replay --state c | jq -c .input)" '["y1","y2"]'
	awf-run -c 'head -c 300000 /dev/zero | tr "\0" a | awf-step a -- cat | awf-step -q b -- wc -c' >/dev/null
	same "$(awf-replay --state b | jq -r '.input | length')" 300000
	awf-run -c "printf '\\377\\376' | awf-step a -- cat | awf-step -q b -- cat" >/dev/null
	same "$(awf-replay --state b)" \
		'{"call":"b:0:0","attempt":1,"input":"//4=","input_encoding":"base64","output":"//4=","output_encoding":"base64"}'
	run -3 awf-run -c 'echo x | awf-step a -- false | awf-step -q b -- cat'
	same "$(awf-replay --state a | jq -c '[.input, .error.code]')" '["x","exit_status"]'
	[[ $(awf-replay --state b) == '{"call":"b:0:0","attempt":1,"input":"x","skipped":"'* ]]
}

@test "--state: what was reused, here and by a fork; what is gone" {
	events >"$BRIEF.jsonl" <<-'END'
		1 - - run.started {"attempt":1}
		2 1 - step.started {"call":"a:0:0","attempt":1,"input":null}
		3 2 - step.completed {"call":"a:0:0","result":{"n":1.50}}
		4 - - run.started {"attempt":2}
		5 4 - step.started {"call":"a:0:0","attempt":2,"input":null}
		6 5 - step.completed {"call":"a:0:0","reused_from":"00000000-0000-4000-8000-000000000003"}
		7 6 - step.started {"call":"b:0:0","attempt":2}
	END
	same "$(awf-replay --state a:0:0 "$BRIEF.jsonl")" '{"call":"a:0:0","attempt":1,"input":null,"output":{"n":1.50}}
{"call":"a:0:0","attempt":2,"input":null,"output":{"n":1.50}}'
	same "$(awf-replay --state b:0:0 "$BRIEF.jsonl")" '{"call":"b:0:0","attempt":2,"input":{"n":1.50},"unfinished":true}'
	events >fork.jsonl <<-END
		1 - - run.started {"attempt":1}
		2 1 - step.started {"call":"a:0:0","input":0}
		3 2 - step.completed {"call":"a:0:0","reused_from":{"run_id":"$BRIEF","event_id":"00000000-0000-4000-8000-000000000006"}}
		4 9 - step.started {"call":"c:0:0"}
		5 4 - step.completed {"call":"c:0:0","reused_from":"00000000-0000-4000-8000-000000000005"}
	END
	same "$(awf-replay --state a:0:0 fork.jsonl)" '{"call":"a:0:0","attempt":1,"input":0,"output":{"n":1.50}}'
	same "$(awf-replay --state c:0:0 fork.jsonl)" '{"call":"c:0:0","attempt":1}'
	rm "$BRIEF.jsonl"
	run -4 --separate-stderr awf-replay --state a:0:0 fork.jsonl
	same "$stderr" "awf-replay: ./$BRIEF.jsonl: unable to open: No such file or directory"
}

@test "damaged lines are told, and the rest is shown" {
	export JQ=jq
	sed '2s/"payload"/payload/' "$AWF_STORAGE/transcripts/$NESTED.jsonl" >t.jsonl
	for display in --tree --timeline; do
		run -0 --separate-stderr awf-replay "$display" t.jsonl
		same "$stderr" 'awf-replay: t.jsonl: line 2 is damaged (see awf-verify)'
		[[ $output == 'nested success ('* ]]
	done
	sed '1s/"payload"/payload/' "$AWF_STORAGE/transcripts/$NESTED.jsonl" >t.jsonl
	run -0 --separate-stderr awf-replay --state count t.jsonl
	same "$stderr" 'awf-replay: t.jsonl: line 1 is damaged: it is no event (see awf-verify)'
	same "$(jq -c 'del(.input)' <<<"$output")" '{"call":"count:0:0","attempt":1,"output":"2"}'
	run -4 --separate-stderr awf-replay --state review.lint "$BRIEF"
	[[ $stderr == 'awf-replay: '*'/ffffffff'*': unable to open the blob: No such file or directory' ]]
}

@test "the width of what is shown" {
	for columns in 1 20 40 200; do
		for display in tree timeline; do
			COLUMNS=$columns awf-replay "--$display" "$BRIEF" >out
			same "$(python3 -c 'import sys; print(max(len(line.rstrip("\n")) for line in open("out")) <= int(sys.argv[1]))' $((columns)))" True
		done
	done
}

@test "wrong command lines" {
	refused 1 "@: there is no run yet in $AWF_STORAGE" --order seq
	refused 1 '--html: only with --timeline' --html x
	refused 1 "--order: no such word 'casual' (did you mean 'causal'?)" --order casual
	refused 1 "--order: 'x' is none of causal, seq" --order x
	refused 1 "--color: 'x' is none of auto, always, never" --tree --color x
	refused 1 "--color: only with --tree or --timeline" --color never
	refused 1 "--color: only with --tree or --timeline" --canonical --color never
	refused 1 '--html: only with --timeline' --tree --html x
	refused 1 '--all: only with --tree or --timeline, and not with --html' --order seq --all
	refused 1 '--all: only with --tree or --timeline, and not with --html' --timeline --html x --all
	refused 1 '--tree: not with --timeline' --timeline --tree
	refused 1 "--state: 'a b' is neither a step (a.b) nor a call (a[0], or a:0:0/b:0:0)" --state 'a b' "$BRIEF"
	refused 1 "--state: this run has no step or call 'a' (see awf-replay --tree)" --state a "$BRIEF"
	refused 1 '--canonical: not with --order' --order seq --canonical
	refused 1 'b: only one run at a time' --canonical a b
	run -1 --separate-stderr awf-replay --canonical @none
	[[ $stderr == "awf-replay: @none: "* ]]
	same "$(awf-replay --version)" "awf-replay $(awf-run --version | cut -d' ' -f2)"
}

@test "a full disk is told, a reader that goes away ends it" {
	run -4 --separate-stderr sh -c 'awf-replay --canonical "$1" >/dev/full' sh "$BRIEF"
	same "$stderr" 'awf-replay: stdout: unable to write: No space left on device'
	run -4 --separate-stderr awf-replay --timeline --html none/page.html "$BRIEF"
	[[ $stderr == 'awf-replay: none/page.html: '*': No such file or directory' ]]
	# A page that cannot be written whole takes the place of no other.
	mkdir pages
	echo before >pages/page.html
	run -4 --separate-stderr env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD="$BUILD/tests/fault/preload.so" \
		FAULT='write 1 1 ENOSPC' awf-replay --timeline --html pages/page.html "$BRIEF"
	[[ $stderr == 'awf-replay: pages/page.html: unable to write: No space left on device' ]]
	same "$(ls -A pages) $(cat pages/page.html)" 'page.html before'
	same "$(awf-replay --order seq "$BRIEF" | head -n 1 | cut -c1-9)" '{"seq":1,'
}
