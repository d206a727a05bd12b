#!/usr/bin/env bats
# A run once more: the commands that awf-serve makes, by sh and by itself.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

# BODY RUN: the status; the answer is in body.
again() { curl -s --max-time 40 -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d "$1" -o body -w '%{http_code}' "$URL/api/runs/$2/again"; }
how() { curl -s --max-time 20 -H "Authorization: Bearer $TOKEN" "$URL/api/runs/$1/again"; }
latest() { jq -r "$1" "$AWF_STORAGE/latest" | head -n 1; }

# Has sh run the command from elsewhere, as somebody who has copied it.
by_hand() {
	jq -r .command body >command
	mkdir -p elsewhere
	(cd elsewhere && sh ../command </dev/null)
}

@test "resume, a fork at a step, and again with the same input: the command is for sh, from anywhere" {
	mkdir "it's here"
	cd "it's here"
	awf-run --name 'my flow' --input 'who=J. O'"'"'Neil & $HOME' -c 'awf-step a -- sh -c "cat; printenv AWF_INPUT_who" | awf-step -r b -- tr a-z "$1"; [ -e go ]' A-Z <<<'cake  of $5' >../first || true
	cd ..
	same "$(cat first)" "CAKE  OF \$5
J. O'NEIL & \$HOME"
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(how '@my%20flow' | jq -c '[.impossible, .kind, .pipeline != null, .file, .inputs.who, .input, .origin, .may_start]')" \
		'[null,"workflow",true,null,"J. O'"'"'Neil & $HOME","whole",null,false]'
	# Again: the same input and inputs, another run.
	same "$(again '{"do": "again"}' '@my%20flow')" 200
	by_hand >out || true
	cmp out first
	same "$(awf-tail --list --json | jq -r .name | paste -sd,)" 'my flow,my flow'
	# A fork at a step, with another input, and another text of the pipeline.
	first=$(awf-tail --list --json | jq -r .run_id | tail -n 1)
	same "$(again '{"do": "fork", "at": "b"}' "$first")" 200
	same "$(jq -r '.command | sub("^AWF_STORAGE=[^ ]* "; "")' body)" "awf-run --fork $first --at b"
	by_hand >out || true
	cmp out first
	same "$(latest 'select(.type == "run.started").payload.forked_from')" "$first"
	same "$(jq -r 'select(.type == "step.completed") | "\(.path) \(.payload.reused_from != null)"' "$AWF_STORAGE/latest" | paste -sd,)" 'a true,b false'
	same "$(again '{"do": "fork", "inputs": {"who": "it'"'"'s me"}}' "$first")" 200
	by_hand >out || true
	same "$(cat out)" "CAKE  OF \$5
IT'S ME"
	pipeline=$(how "$first" | jq '.pipeline | sub("tr a-z"; "sed \"s/^/it'"'"'s: /\" | tr a-z")')
	same "$(again "{\"do\": \"fork\", \"at\": \"b\", \"pipeline\": $pipeline}" "$first")" 200
	jq -r .command body | grep -qF -- '--at b'
	# Resume: after what it lacks is there.
	touch "it's here/go"
	same "$(again '{"do": "resume"}' "$first")" 200
	by_hand >out
	same "$(awf-tail --list --json | jq -r --arg run "$first" 'select(.run_id == $run).status')" success
}

@test "a prompt in the text of a pipeline, edited, is what the fork asks" {
	load ../../support/agent
	load ../../support/writing
	scripted_model
	script 1 'answer "one"'
	script 2 'answer "two"'
	awf-run --name asks -c "awf-step -m scripted/m -p 'Say it briefly: {{data}}' -r ask" <<<cake >first
	run=$(awf-tail --list --json | jq -r .run_id)
	serve
	TOKEN=$(awf-serve --new-token read)
	cat >edit <<-'END'
		.pipeline | sub("briefly"; "in \"verse\", it'\\''s")
	END
	pipeline=$(how "$run" | jq "$(cat edit)")
	same "$(again "{\"do\": \"fork\", \"at\": \"ask\", \"pipeline\": $pipeline}" "$run")" 200
	jq -r .command body >command
	(cd / && AWF_MODEL=${AWF_MODEL-} sh "$OLDPWD/command" </dev/null) >out
	same "$(latest 'select(.type == "run.started").payload.forked_from')" "$run"
	same "$(jq -r 'select(.type == "message.user").payload.blocks[0].text' "$AWF_STORAGE/latest")" "Say it in \"verse\", it's: cake"
}

@test "of what is no workflow that it could start, masked, or damaged, it says so" {
	awf-run -n --name plain -c 'awf-step -n a -q -- true'
	AWF_MASK=cat awf-run -n --name masked -c 'awf-step -n a -q -- true'
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(again '{"do": "fork"}' @masked)" 409
	same "$(how @masked | jq -r .impossible)" 'its record is masked: what it was started with is not known'
	same "$(again '{"do": "other"}' @plain)" 400
	same "$(again '{"do": "again", "at": "a"}' @plain)" 400
	same "$(again '{"do": "resume", "inputs": {"a": "b"}}' @plain)" 400
	same "$(again '{"do": "fork", "inputs": {"a": 1}}' @plain)" 400
	same "$(again '{"do": "fork", "inputs": {"a b": "1"}}' @plain)" 400
	same "$(again '{"do": "again", "start": true}' @plain)" 403
	same "$(again '{"do": "again"}' @none)" 404
	TOKEN=$(awf-serve --new-token read --name other)
	same "$(again '{"do": "again"}' @plain)" 404
	TOKEN=$(awf-serve --new-token ingest)
	same "$(again '{"do": "again"}' @plain)" 403
}

@test "a workflow of --workflows is started, forked and resumed here, by who may start it" {
	mkdir flows
	cat >flows/deploy.awf <<-'END'
		#!/usr/bin/env -S awf-run --timeout 5m --
		awf-step first -- cat | awf-step -r then -- tr a-z A-Z
		[ -e go ]
	END
	chmod +x flows/deploy.awf
	serve --workflows flows
	TOKEN=$(awf-serve --new-token start --name deploy.awf)
	run=$(curl -s -H "Authorization: Bearer $TOKEN" --data-binary cake "$URL/hooks/deploy" | jq -r .run_id)
	ended() { eventually eval "[ \"\$(ask /api/runs/$1 | jq -r .status)\" = $2 ]"; }
	ended "$run" failed
	same "$(how "$run" | jq -c '[.file != null, .may_start]')" '[true,true]'
	# What is shown is what is done, but for the id that it gets.
	same "$(again '{"do": "again"}' "$run")" 200
	same "$(jq -r .command body)" "cd $PWD/flows && AWF_STORAGE=$AWF_STORAGE awf-run --wait=10m --auto-resume --name deploy.awf --timeout 5m -- $PWD/flows/deploy.awf <$AWF_STORAGE/inputs/$run"
	same "$(again '{"do": "again", "start": true}' "$run")" 202
	new=$(jq -r .run_id body)
	[ "$new" != "$run" ]
	ended "$new" failed
	same "$(ask "/api/runs/$new/output?partial=1")" CAKE
	same "$(again '{"do": "fork", "at": "then", "start": true}' "$run")" 202
	fork=$(jq -r .run_id body)
	ended "$fork" failed
	same "$(ask "/api/runs/$fork" | jq -r .forked_from)" "$run"
	# Whoever has started them may read them.
	same "$(ask_tcp "/api/runs/$fork" | jq -r .status)" failed
	touch flows/go
	same "$(again '{"do": "resume", "start": true}' "$run")" 202
	same "$(jq -r .run_id body)" "$run"
	ended "$run" success
	# A run that has succeeded is not resumed; awf-run says so.
	same "$(again '{"do": "resume", "start": true}' "$run")" 500
	# Who may read alone, or start others alone, gets the command.
	TOKEN=$(awf-serve --new-token decide)
	same "$(again '{"do": "again", "start": true}' "$run")" 403
	same "$(jq -r .error.message body)" 'this server does not start it for you: use the command'
	# The link's session may.
	TOKEN=$(curl -s -H 'Content-Type: application/json' -d "{\"code\": \"$CODE\"}" "$URL/api/session" | jq -r .token)
	same "$(curl -s -H "Authorization: Bearer $TOKEN" "$URL/api/session" | jq -c .may)" '["read","decide","start"]'
	same "$(again '{"do": "again", "start": true}' "$run")" 202
	ended "$(jq -r .run_id body)" success
}

@test "what a sender of records, another directory, or an argument makes of a run is not started" {
	mkdir flows other
	printf '#!/bin/sh\ncat >/dev/null\n' >flows/deploy.awf
	printf '#!/bin/sh\necho evil >evil\n' >other/deploy.awf
	chmod +x */deploy.awf
	awf-run -n --name there other/deploy.awf
	awf-run -n --name words flows/deploy.awf -x
	awf-run -n --name piped -c 'cat flows/deploy.awf >/dev/null'
	rm -f evil
	# The record of a run of the file, as another machine has it.
	AWF_STORAGE=$PWD/far awf-run -n --name far flows/deploy.awf
	serve --workflows flows
	TOKEN=$(awf-serve --new-token ingest --label far)
	AWF_STORAGE=$PWD/far awf-tail --json | ask_tcp /api/ingest -H 'Content-Type: application/x-ndjson' --data-binary @- >/dev/null
	far=$(AWF_STORAGE=$PWD/far awf-tail --list --json | jq -r .run_id)
	TOKEN=$(curl -s -H 'Content-Type: application/json' -d "{\"code\": \"$CODE\"}" "$URL/api/session" | jq -r .token)
	for run in @there @words @piped "$far"; do
		for what in again fork resume; do
			same "$(again "{\"do\": \"$what\", \"start\": true}" "$run")" 403
		done
	done
	[ ! -e evil ]
	same "$(how "$far" | jq -r '.origin | sub(" .*"; "")')" far
}
