#!/usr/bin/env bats
# bats file_tags=turn:2
# Attachments: images and PDF files that go to a model with the prompt.
# shellcheck disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/resume

prepare() {
	mkdir agents
	agent writer
	printf '\x89PNG\r\n\x1a\nabc' >x.png
	printf '%%PDF-1.4\n' >y.pdf
}

# Answers "seen" to every request.
serve() {
	text seen >answer
	model_server --answer answer --loop
}

# The first message of the N-th request.
asked() { bodies | sed -n "${1-1}p" | jq -c '.messages[0].content'; }

# A command that makes an item with these attachments, a JSON array.
item() { printf "awf-step -n make -- echo text | jq -c '.metadata.attachments = %s'" "$1"; }

IMAGE='{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgphYmM="}}'
PDF='{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"},"title":"y.pdf"}'

@test "--attach: before the text, for each item, recorded without the bytes in the line" {
	export JQ=jq
	serve
	printf 'a\nb\n' | awf-step -i lines -q -a writer look --attach x.png --attach y.pdf
	same "$(asked 1)" "[$IMAGE,$PDF,{\"type\":\"text\",\"text\":\"a\"}]"
	same "$(asked 2)" "[$IMAGE,$PDF,{\"type\":\"text\",\"text\":\"b\"}]"
	same "$(payloads step.started '.attachments[0]' | head -n 1)" \
		"{\"path\":\"x.png\",\"media_type\":\"image/png\",\"name\":\"x.png\",\"bytes\":11,\"sha256\":\"$(sha256sum <x.png | cut -c1-64)\"}"
	same "$(payloads message.user '.blocks[0] | del(.sha256)' | head -n 1)" \
		'{"type":"image","media_type":"image/png","name":"x.png","bytes":11,"data":null,"fidelity":"router"}'
	same "$(jq -r 'select(.type == "message.user").refs[0] | "\(.at) \(.encoding)"' "$(transcript)" | head -n 1)" \
		'/payload/blocks/0/data raw'
	cmp x.png "$AWF_STORAGE"/blobs/*/"$(sha256sum <x.png | cut -c1-64)"
	awf-verify -q
}

@test "the type is what the bytes say" {
	while read -r expected bytes; do
		serve
		printf "$bytes" >file.txt
		awf-step -n -q -a writer look -p hi --attach file.txt
		same "$expected $(bodies | jq -r '.messages[0].content[0].source.media_type')" "$expected $expected"
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		image/png \x89PNG\r\n\x1a\n
		image/jpeg \xff\xd8\xff\xe0
		image/gif GIF87a
		image/gif GIF89a
		image/webp RIFF....WEBPVP8
		application/pdf %%PDF-1.7
	END
}

# bats test_tags=turn:3
@test "what cannot be attached is said before anything is read" {
	: >empty.png
	echo text >text.png
	mkfifo pipe.png
	head -c 33554433 /dev/zero >large.png
	while IFS='|' read -r file why; do
		run -2 --separate-stderr awf-step -a writer look --attach "$file" </dev/null
		same "$stderr" "awf-step: $file: $why"
	done <<-'END'
		missing.png|unable to open: No such file or directory
		empty.png|is empty
		text.png|no attachment that models take: it is none of PNG, JPEG, GIF, WebP, PDF
		pipe.png|no regular file
		agents|no regular file
		large.png|an attachment is above 32 MiB
	END
	[ ! -e "$AWF_STORAGE/latest" ]
	{ printf '\x89PNG\r\n\x1a\n'; head -c 33554000 /dev/zero; } >big.png
	run -2 --separate-stderr awf-step -a writer look --attach big.png --attach big.png \
		--attach big.png --attach big.png --attach big.png </dev/null
	same "$stderr" 'awf-step: big.png: the attachments of a call are above 128 MiB together'
}

@test "commands and tools take no attachments" {
	for words in '-- cat' '-t add' '--approve' '--each -- cat'; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr awf-step --attach x.png look $words
		same "$stderr" 'awf-step: --attach: only with -a or -m: commands and tools get the data alone'
	done
}

@test "attachments of a state line: by path, or within it" {
	export JQ=jq
	serve
	awf-run -n -c "$(item '[{path: "x.png"}, {data: "JVBERi0xLjQK", name: "y.pdf"}]') |
		awf-step -q -a writer look"
	same "$(asked)" "[$IMAGE,$PDF,{\"type\":\"text\",\"text\":\"text\"}]"
	same "$(payloads step.started 'select(.name == "look").attachments | map([.path, .name])')" \
		'[["x.png","x.png"],[null,"y.pdf"]]'
}

@test "attachments of a state line that are wrong fail the call, before anything is asked" {
	serve
	: >empty.png
	while IFS='|' read -r list why; do
		run -3 --separate-stderr awf-run -n -c "$(item "$list") | awf-step -q -a writer look"
		same "${stderr_lines[0]}" "awf-step: look: $why"
		same "$(payloads step.completed 'select(.name == "look").error.code')" '"invalid_input"'
	done <<-'END'
		1|metadata.attachments: expected an array
		["x.png"]|metadata.attachments: expected objects with a path or with data, as texts
		[{}]|metadata.attachments: expected objects with a path or with data, as texts
		[{path: "x.png", data: ""}]|metadata.attachments: expected objects with a path or with data, as texts
		[{path: "none.png"}]|none.png: unable to open: No such file or directory
		[{path: "empty.png"}]|empty.png: is empty
		[{data: ""}]|metadata.attachments: is empty
		[{data: "%%", name: "z"}]|z: data: expected base64
		[{data: "YWJj"}]|metadata.attachments: no attachment that models take: it is none of PNG, JPEG, GIF, WebP, PDF
		[{path: "x.png", media_type: "image/gif"}]|x.png: its content is image/png, not what media_type says
		[{path: "x.png", sha256: "00"}]|x.png: has changed: its sha256 is 2cb922ecae93d405c9b9631a154ff097e354a411d5444196a182a0ffcbe63071
	END
	[ ! -s "$MODEL_SERVER_LOG" ]
}

@test "commands and tools are not given the attachments of a line, nor look at them" {
	awf-run -n -c "$(item '[{path: "none.png"}]') | awf-step -r show -- cat" >out
	same "$(cat out)" text
}

@test "results have no attachments, lines that stand for the item have" {
	serve
	at='.metadata.attachments // [] | length'
	same "$(awf-run -n -c "$(item '[{path: "x.png"}]') | awf-step -a writer look" | jq "$at")" 0
	same "$(awf-run -n -c "$(item '[{path: "x.png"}]') | awf-step --into y -a writer look" | jq "$at")" 1
	same "$(awf-run -n -c "$(item '[{path: "x.png"}]') | awf-step --when false -a writer look" | jq "$at")" 1
	same "$(awf-run -n -c "$(item '[{path: "x.png"}]') | awf-step bad -- false | awf-step --rescue -a writer look; true" | jq "$at")" 0
	same "$(bodies | tail -n 1 | jq '.messages[0].content | length')" 2
}

@test "groups hand them on to their steps; joined items bring all of theirs" {
	export JQ=jq
	serve
	awf-run -n -c "$(item '[{path: "x.png"}]') |
		awf-step --each --pass-key ANTHROPIC_API_KEY all -- awf-step -a writer look | awf-step -q --parallel both -- 'cat' 'cat'"
	same "$(asked)" "[$IMAGE,{\"type\":\"text\",\"text\":\"text\"}]"
	printf '%s\n' '{path: "x.png"}' '{path: "y.pdf"}' >lists
	awf-run -c 'while read -r list; do awf-step -n make -- echo x | jq -c ".metadata.attachments = [$list]"; done |
		awf-step -s -q -a writer look' <lists
	same "$(asked 2 | jq -c 'map(.type)')" '["image","document","text"]'
}

@test "they are part of the input: a changed one is noticed, the same one is reused" {
	serve
	awf-run -n --id-file id -c "$(item '[{path: "x.png"}]') | awf-step -q -a writer look --attach y.pdf; false" || true
	awf-run --resume "$(cat id)" || true
	same "$(bodies | wc -l)" 1
	printf '%%PDF-1.5\n' >y.pdf
	awf-run --resume "$(cat id)" || true
	same "$(bodies | wc -l)" 2
	printf '\x89PNG\r\n\x1a\nabd' >x.png
	awf-run --resume "$(cat id)" || true
	same "$(bodies | wc -l)" 3
	awf-run --resume "$(cat id)" || true
	same "$(bodies | wc -l)" 3
}

@test "a replay with a changed file is a divergence" {
	serve
	echo hi | awf-run -c 'awf-step -r -a writer look --attach x.png' >out
	same "$(awf-replay --isolation copy)" seen
	printf '\x89PNG\r\n\x1a\nabd' >x.png
	run -3 --separate-stderr awf-replay -q --current --isolation copy
	[[ $stderr == *'look:0:0: its attachments are others than the recorded ones'* ]]
}

@test "a replay takes a file that has gone from the recording" {
	serve
	recorded 0 -n -c "$(item '[{path: "x.png"}]') | awf-step -r -a writer look"
	rm x.png
	kill "$MODEL_SERVER_PID"
	same "$(awf-replay --isolation copy)" seen
	# and so does a call that was done, of a run that goes on
	serve
	printf '\x89PNG\r\n\x1a\nabc' >x.png
	awf-run -n --id-file id -c "$(item '[{path: "x.png"}]') | awf-step -q -a writer look; test -e ok"  || true
	rm x.png
	: >ok
	awf-run --resume "$(cat id)"
	same "$(bodies | wc -l)" 1
}

@test "an agent that was cut off goes on with the attachment that it was given" {
	mkdir tools
	resume_tools
	agent writer 'tools: [wait]'
	tool wait '"effects":"none"' 'hold >/dev/null; echo done'
	stream tool_use "$(use t1 wait '{}')" >call
	text seen >answer
	model_server --answer call --answer answer
	die -n -c "$(item '[{path: "x.png"}]') | awf-step -r -a writer look"
	rm x.png
	same "$(resume)" seen
	same "$(bodies | wc -l)" 2
	same "$(asked 2 | jq -c '[.[0].source.data, .[1].text]')" '["iVBORw0KGgphYmM=","text"]'
}

@test "they are shown by what they are, never as base64" {
	serve
	echo hi | awf-step -q -a writer look --attach x.png
	awf-tail | grep -F 'look user: [image/png x.png, 11 B] hi'
	run ! grep -F iVBORw <(awf-tail; awf-tail --json; awf-replay --show)
	for to in agent-event agentloom daemon-event interagent langgraph otlp runtime; do
		run ! grep -F iVBORw <(awf-tail --project $to 2>&1)
	done
	echo hi | awf-step --dry-run -a writer look --attach x.png | grep -F iVBORw0KGgphYmM=
	script -qec 'echo hi | awf-step --dry-run -a writer look --attach x.png' /dev/null |
		grep -F '"data":"[image/png x.png, 11 B]"'
	awf-run -c "$(item '[{"path":"x.png"}]') | awf-step --dry-run -a writer look" |
		grep -F iVBORw0KGgphYmM=
}

@test "a masked run does not keep their bytes" {
	export JQ=jq
	serve
	echo hi | awf-run --mask cat -c 'awf-step -q -a writer look --attach x.png'
	same "$(asked)" "[$IMAGE,{\"type\":\"text\",\"text\":\"hi\"}]"
	same "$(payloads message.user '.blocks[0].data')" null
	[ ! -e "$AWF_STORAGE"/blobs/* ]
	awf-verify -q
}

@test "a path in a line leads no further than the current directory" {
	serve
	mkdir ../private sub
	cp x.png ../private
	ln -s ../private/x.png link.png
	cp x.png sub/in.png
	ln -s sub/in.png within.png
	for path in ../private/x.png "$(realpath ../private/x.png)" link.png /proc/self/cwd/x.png; do
		run -3 --separate-stderr awf-run -n -c "$(item "[{path: \"$path\"}]") | awf-step -q -a writer look"
		same "${stderr_lines[0]}" "awf-step: look: $path: leads out of the current directory, which a line's attachment may not: name it with --attach, or give its data"
	done
	[ ! -s "$MODEL_SERVER_LOG" ]
	for path in "$PWD/x.png" sub/in.png within.png; do
		awf-run -n -c "$(item "[{path: \"$path\"}]") | awf-step -q -a writer look"
	done
	# What the user names may lie anywhere.
	echo hi | awf-step -q -a writer look --attach ../private/x.png
}

@test "what is attached is under the token, and held to its bytes" {
	serve
	# $1 changes the line between the two steps.
	between() {
		run --separate-stderr awf-run -n -c "$(item '[{path: "x.png"}]') |
			awf-step --into seen -a writer look | $1 awf-step --require look -q -m anthropic/test -p go then"
	}
	between ''
	same "$status" 0
	between "jq -c '.metadata.attachments += [{path: \"y.pdf\"}]' |"
	[[ $status == 3 && $stderr == *'no token of look'* ]]
	between '{ line=$(cat); echo other >>x.png; printf "%s\\n" "$line"; } |'
	[[ $status == 3 && $stderr == *'x.png: has changed: its sha256 is'* ]]
}
