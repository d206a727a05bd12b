#!/usr/bin/env bats
# bats file_tags=turn:2
# The workers of a run, awf-provider(7): which steps share one, and that a step has its answer
# whatever becomes of a worker.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	mkdir agents
	agent writer
}

# Serves one answer for ever.
serve() {
	text fine >answer
	model_server --answer answer --loop "${FAULTS[@]}"
}

# How many requests and connections the server has had; this makes one more.
count() { curl -s "$MODEL_SERVER/count"; }

@test "one worker serves the steps of a run over one connection, and ends with it" {
	serve
	run -0 awf-run -n -- bash -c 'for i in 1 2 3 4; do echo x | awf-step -r s$i -a writer; workers >>pids; done'
	same "$output" "$(printf 'fine\nfine\nfine\nfine')"
	same "$(sort -u pids | wc -l)" 1
	same "$(wc -l <pids)" 4
	no_workers
	same "$(count | jq -c '[.requests, .connections]')" '[4,2]'
	awf-verify -q
}

@test "a pipeline has as many workers as ask at once, not as wait for their input" {
	serve
	run -0 awf-run -n -- bash -c 'echo x | awf-step -a writer a | awf-step -a writer b | awf-step -a writer c |
		awf-step -a writer d | awf-step -a writer e | awf-step -r -a writer f; workers >pids'
	same "$output" fine
	# Mostly two: one may still be ending when the next begins.
	[ "$(wc -l <pids)" -lt 6 ]
	same "$(count | jq .requests)" 6
	awf-verify -q
}

@test "it is the guardian's, starts in /, and has the variables that it reads alone" {
	serve
	export UNRELATED=something
	run -0 awf-run -n -- bash -c 'echo x | awf-step -q s -a writer
		cat "/proc/$(cut -d " " -f 4 "/proc/$(workers)/stat")/comm"
		readlink "/proc/$(workers)/cwd"
		tr "\0" "\n" <"/proc/$(workers)/environ" | cut -d = -f 1 | sort | tr "\n" " "'
	[ -n "${lines[1]}" ] || skip 'the environment of a process that is not dumpable is not shown here'
	same "${lines[0]} ${lines[1]}" 'awf-guardian /'
	run -1 grep -E 'UNRELATED|AWF_[^E]|PATH|OPENAI' <<<"${lines[2]}"
}

@test "a step of a run of its own has a provider of its own" {
	serve
	same "$(echo x | awf-step -r s -a writer)" fine
	run -2 ls "$AWF_STORAGE"/runs/*/workers
}

@test "another key, another server or another program is another worker" {
	serve
	run -0 awf-run -n -- bash -c '
		echo x | awf-step -q a -a writer
		echo x | ANTHROPIC_API_KEY=other awf-step -q b -a writer
		echo x | ANTHROPIC_BASE_URL=$ANTHROPIC_BASE_URL/ awf-step -q c -a writer
		echo x | UNRELATED=other awf-step -q d -a writer
		ls "$AWF_STORAGE/runs/$AWF_RUN_ID/workers"/*.lock | wc -l'
	same "$output" 3
}

@test "each step asks with its own key" {
	cat >server.py <<'END'
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        with open("keys", "a") as keys:
            print(self.headers["x-api-key"], file=keys)
        self.send_error(401)
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open("port", "w") as port:
    print(server.server_port, file=port)
server.serve_forever()
END
	python3 server.py 3>&- &
	server=$!
	eventually test -s port
	ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat port)
	# shellcheck disable=SC2030 # each test has its own
	export ANTHROPIC_BASE_URL ANTHROPIC_API_KEY=one
	run -3 --separate-stderr awf-run -n -- bash -c 'for key in one two one three two; do
		echo x | ANTHROPIC_API_KEY=$key awf-step -q "$key" -a writer; done
		ls "$AWF_STORAGE/runs/$AWF_RUN_ID/workers"/*.lock | wc -l'
	kill "$server"
	same "$output" 3
	same "$(tr '\n' ' ' <keys)" 'one two one three two '
}

@test "the key is in no file, argument or name of a socket" {
	serve
	# shellcheck disable=SC2031 # likewise
	export ANTHROPIC_API_KEY=sk-$RANDOM-very-$RANDOM-secret
	echo "$ANTHROPIC_API_KEY" >"$HOME/key"
	run -0 awf-run -n -- bash -c '
		echo x | awf-step -q a -a writer
		workers | wc -l
		grep -rlFf "$HOME/key" "$AWF_STORAGE" .
		cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\0" "\n" | grep -Ff "$HOME/key"
		grep -Ff "$HOME/key" /proc/net/unix
		true'
	same "$output" 1
}

@test "steps at once share a worker, which asks for all of them at the same time" {
	FAULTS=(--fault '*:slow:100')
	serve
	run -0 awf-run -n -- bash -c '
		for i in 1 2 3 4 5 6; do echo x | awf-step -r s$i -a writer & done; wait
		ls "$AWF_STORAGE/runs/$AWF_RUN_ID/workers"/*.lock | wc -l'
	same "$(sort <<<"$output" | uniq -c | tr -s ' \n' ' ')" ' 1 1 6 fine '
	no_workers
	awf-verify -q
}

@test "a worker that was killed, or is stopped, harms no later step" {
	serve
	run -0 awf-run -n -- bash -c '
		echo x | awf-step -r a -a writer
		kill -9 $(workers)
		echo x | awf-step -r b -a writer
		kill -STOP $(workers)
		echo x | awf-step -r c -a writer
		echo x | awf-step -r d -a writer
		workers | wc -l'
	same "$output" "$(printf 'fine\nfine\nfine\nfine\n2')"
	no_workers
	same "$(sent)" 4
}

@test "one that dies under a request is a failed try" {
	FAULTS=(--fault 1:stall)
	serve
	run -0 awf-run -n -- bash -c '
		echo x | awf-step -r --delay 10ms a -a writer &
		until [ "$(wc -l <"'"$MODEL_SERVER_LOG"'")" -gt 0 ]; do sleep 0.02; done
		sleep 0.2
		kill -9 $(workers)
		wait'
	same "$output" fine
	same "$(payloads step.completed '[.retries[].code]')" '["provider"]'
	same "$(sent)" 2
	no_workers
}

@test "a step that is killed under a request leaves the next one a worker" {
	FAULTS=(--fault 1:stall)
	serve
	run -0 --separate-stderr awf-run -n -- bash -c '
		echo x | awf-step -q --try a -a writer &
		until [ "$(wc -l <"'"$MODEL_SERVER_LOG"'")" -gt 0 ]; do sleep 0.02; done
		kill -9 $!
		wait
		echo x | awf-step -r b -a writer'
	same "$output" fine
	no_workers
}

@test "no worker outlives awf-run, however that ends" {
	FAULTS=(--fault '*:stall')
	serve
	for signal in TERM KILL; do
		: >"$MODEL_SERVER_LOG"
		awf-run -n -- bash -c 'echo x | awf-step -q a -a writer' 2>/dev/null &
		run=$!
		eventually test -s "$MODEL_SERVER_LOG"
		[ "$(workers | wc -l)" -eq 1 ]
		kill -$signal "$run"
		wait "$run" || true
		eventually no_workers
	done
}

@test "a resumed run has workers of its own" {
	serve
	run -3 awf-run -n --name w -- bash -c 'echo x | awf-step -r a -a writer; [ -e ok ] || awf-step -n b -q -- false
		echo x | awf-step -r c -a writer'
	touch ok
	run -0 awf-run --resume @w
	same "$output" "$(printf 'fine\nfine')"
	no_workers
}

@test "a storage whose path is long" {
	serve
	AWF_STORAGE="$AWF_STORAGE/$(printf 'd%.0s' $(seq 150))"
	run -0 awf-run -n -- sh -c 'echo x | awf-step -r a -a writer; ls "$AWF_STORAGE/runs/$AWF_RUN_ID/workers"/*.lock | wc -l'
	same "$output" "$(printf 'fine\n1')"
}

@test "one that nobody comes to ends, and another is started" {
	serve
	idle=$(patience_of 60000)
	export idle
	run -0 awf-run -n -- bash -c '
		echo x | awf-step -r a -a writer
		sleep "$((idle / 1000 + 1)).5"
		workers | wc -l
		echo x | awf-step -r b -a writer
		workers | wc -l'
	same "$output" "$(printf 'fine\n0\nfine\n1')"
}

@test "a provider of another make is started as before" {
	mkdir other
	printf '#!/bin/sh\n[ $# -eq 0 ] || exit 9\nexec "%s"\n' "$BUILD/libexec/awf/awf-provider-anthropic" >other/awf-provider-anthropic
	chmod +x other/awf-provider-anthropic
	serve
	run -0 env AWF_PROVIDER_PATH="$PWD/other" awf-run -n -- sh -c 'echo x | awf-step -r a -a writer
		ls "$AWF_STORAGE/runs/$AWF_RUN_ID/workers" | grep -c lock || true'
	[[ "${lines[0]}" == fine && "${lines[1]}" == 0 ]]
}

@test "an authority that is named by a path from here is found" {
	serve
	run -0 env SSL_CERT_FILE=ca.pem awf-run -n -- sh -c 'echo x | awf-step -r a -a writer
		ls "$AWF_STORAGE/runs/$AWF_RUN_ID/workers" | grep -c lock || true'
	[[ "${lines[0]}" == fine && "${lines[1]}" == 0 ]]
}

# bats test_tags=turn:4
@test "there are 32 at most: who comes then has a provider of its own" {
	FAULTS=(--fault '*:slow:200')
	serve
	run -0 awf-run -n -- bash -c 'for i in $(seq 36); do echo x | awf-step -r s$i -a writer & done
		most=0
		while [ "$(jobs -r | wc -l)" -gt 0 ]; do
			now=$(workers | wc -l)
			[ "$now" -le "$most" ] || most=$now
			sleep 0.02
		done
		wait; [ "$most" -le 32 ] && echo "few"'
	same "$(sort <<<"$output" | uniq -c | tr -s ' \n' ' ')" ' 1 few 36 fine '
	same "$(sent)" 36
	no_workers
}

@test "a step in a namespace of its own has a provider of its own" {
	unshare -rm true 2>/dev/null || skip 'no namespaces here'
	serve
	run -0 awf-run -n -- bash -c 'echo x | unshare -rm awf-step -r a -a writer
		ls "$AWF_STORAGE/runs/$AWF_RUN_ID/workers" | grep -c lock || true'
	same "$output" "$(printf 'fine\n0')"
}

@test "whoever asks the guardian for something else gets nothing, and harms nobody" {
	serve
	printf '#!/bin/sh\ntouch "%s/evil"\n' "$PWD" >awf-provider-anthropic
	chmod +x awf-provider-anthropic
	cat >stranger.py <<'END'
import glob, os, socket
mine = os.path.abspath("awf-provider-anthropic").encode()
lock = os.path.abspath("here.lock").encode()
listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listener.bind("here")
listener.listen()
# Names of sockets are short.
os.chdir(os.environ["AWF_STORAGE"] + "/runs/" + os.environ["AWF_RUN_ID"] + "/workers")
name, = glob.glob("ask-*")
def send(text, *fds):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.connect(name)
    socket.send_fds(s, [text], list(fds))
memory = os.memfd_create("x")
os.write(memory, b"A=b\0")
ours = os.environ["OURS"].encode()
for program in mine, b"/bin/sh", ours + b"/../../../bin/sh", b"":
    send(program + b"\0" + lock + b"\0", listener.fileno(), memory)
for _ in range(50):
    send(b"", listener.fileno(), memory)
send(ours + b"\0" + lock)
send(ours + b"\0" + lock + b"\0")
send(ours + b"\0", listener.fileno(), memory)
send(ours + b"\0" + lock + b"\0", listener.fileno())
send(ours + b"\0" + lock + b"\0", *[listener.fileno()] * 7)
send(ours + b"\0" + lock + b"\0", listener.fileno(), os.pipe()[0])
send(b"x" * 20000, listener.fileno(), memory)
print("sent", flush=True)
END
	export OURS="$BUILD/libexec/awf/awf-provider-anthropic"
	run -0 --separate-stderr awf-run -n -- bash -c 'ls "/proc/$PPID/fd" >before
		timeout 20 python3 stranger.py; workers | wc -l
		echo x | awf-step -r a -a writer; workers | wc -l
		# It may still be closing what came with the last request, and have closed more since.
		for i in $(seq 100); do
			ls "/proc/$PPID/fd" >after
			diff before after | grep -q "^>" || exit 0
			sleep 0.05
		done
		diff before after'
	same "$output" "$(printf 'sent\n0\nfine\n1')"
	[ ! -e evil ]
	no_workers
}

@test "one that answers nonsense harms its step alone" {
	serve
	cat >nonsense.py <<'END'
import glob, os, socket, sys
ready = os.path.abspath("nonsense")
os.chdir(os.environ["AWF_STORAGE"] + "/runs/" + os.environ["AWF_RUN_ID"] + "/workers")
lock, = glob.glob("*.lock")
name = lock[:-len(".lock")]
os.unlink(name)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listener.bind(name)
listener.listen()
os.mkdir(ready)
while True:
    client, _ = listener.accept()
    try:
        client.sendall(b'{"worker":1}\n')
        client.recv(1000)
        client.sendall(b"nonsense\n")
    except OSError:
        pass
    client.close()
END
	run -0 --separate-stderr awf-run -n -- bash -c 'echo x | awf-step -q a -a writer
		timeout 60 python3 nonsense.py & nonsense=$!
		until [ -d nonsense ]; do kill -0 $nonsense || exit; sleep 0.02; done
		echo x | awf-step -r --delay 1ms b -a writer; echo x | awf-step -r --retries 0 c -a writer
		kill $nonsense'
	same "$output" "$(printf 'fine\nfine')"
	same "$(payloads step.completed '[(.retries // [])[].code]' | tr '\n' ' ')" '[] ["provider"] [] '
}

@test "a run that may open few files" {
	serve
	for files in 12 13 14 20; do
		run -0 bash -c "ulimit -n $files; awf-run -n -c 'echo x | awf-step -r a -- cat'"
		same "$output" x
	done
}

# shellcheck disable=SC2154 # run sets stderr
@test "--worker without what it needs is refused in one line" {
	refused() {
		local words=$1 want=$2
		# shellcheck disable=SC2086
		run -1 --separate-stderr timeout 10 "$BUILD/libexec/awf/awf-provider-anthropic" $words </dev/null
		same "$stderr" "awf-provider-anthropic: $want"
	}
	refused '--parent=1' '--parent: only with --worker'
	refused '--check --worker=x.lock' '--worker: not with --check'
	refused '--worker=' "--worker: '': expected the path of a slot's lock"
	refused '--worker=x' "--worker: 'x': expected the path of a slot's lock"
	refused '--worker=.lock' "--worker: '.lock': expected the path of a slot's lock"
	refused '--worker=x.lock' '--worker: stdin is no socket that listens'
	refused '--worker=x.lock --parent=no' "--parent: 'no' is not a whole number"
	run -1 --separate-stderr python3 -c '
import socket, subprocess, sys
s = socket.socket(socket.AF_UNIX)
s.bind("x")
s.listen()
sys.exit(subprocess.run([sys.argv[1], "--worker=x.lock", "--parent=1"], stdin=s).returncode)' \
		"$BUILD/libexec/awf/awf-provider-anthropic"
	same "$stderr" 'awf-provider-anthropic: --parent: process 1 did not start this one'
}

# shellcheck disable=SC2154 # run sets stderr
@test "only who keeps nothing of a client can be a worker" {
	for name in claude replay; do
		run -1 --separate-stderr "$BUILD/libexec/awf/awf-provider-$name" --worker=x.lock
		[[ "$stderr" == "awf-provider-$name: --worker: it cannot be one" ]]
	done
}
