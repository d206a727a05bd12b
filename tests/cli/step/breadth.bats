#!/usr/bin/env bats
# bats file_tags=turn:2
# Many model calls at the same time: what a worker of awf-provider(7) has in hand is each its own.
# shellcheck disable=SC2154 # bats sets stderr
# shellcheck disable=SC2030,SC2031 # each test has its own variables
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	many_server
}

# Starts tests/support/many-server.py, as OpenAI's.
many_server() {
	LOG="$BATS_TEST_TMPDIR/many.log"
	: >"$LOG"
	python3 -S "$ROOT/tests/support/many-server.py" many.port "$LOG" "$@" 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually test -s many.port
	export OPENAI_BASE_URL="http://127.0.0.1:$(cat many.port)/v1" OPENAI_API_KEY=key LOG
}
# Requests of which EVENT has happened, and the most at once.
events() { jq -r "select(.event == \"$1\").said" "$LOG"; }
most() { jq -s 'map(.at_once) | max' "$LOG"; }
# ask WORDS…: a call that says these; items: one for each line of stdin.
ask() { echo | awf-step -r -m openai/m -p "$*" "${name-ask}"; }
items() { awf-step -r -i lines -m openai/m -p '{{data}}' "$@"; }
export -f ask events items

# bats test_tags=turn:2
@test "150 at once are asked at once, by two workers" {
	seq 150 | sed 's/$/ together:150/' >in
	run -0 awf-run -- bash -c 'items -j 150 all; ls "$AWF_STORAGE/runs/$AWF_RUN_ID/workers"/*.lock | wc -l' <in
	same "$(head -n 150 <<<"$output" | sort -n -k 2)" "$(sed 's/^/said /' in)"
	same "${lines[-1]}" 2
	same "$(most)" 150
	no_workers
	awf-verify -q
}

@test "a call that is cancelled is gone at the server, and its worker goes on for the others" {
	run -0 awf-run -n -- bash -c '
		name=long ask one wait:2 >long &
		until [ "$(wc -l <"$LOG")" -ge 1 ]; do sleep 0.02; done
		workers >before
		echo | awf-step -r --try -q --timeout 300ms --retries 0 -m openai/m -p "two hang" short 2>/dev/null
		date +%s.%N >ended
		name=later ask three ok
		workers >after
		wait
		cat long'
	same "$output" "$(printf 'said three ok\nsaid one wait:2')"
	same "$(cat after)" "$(cat before)"
	# It was within a tenth of a second of the end of the call.
	jq -es --argjson ended "$(cat ended)" 'map(select(.event == "gone"))[0] | .said == "two hang" and .time < $ended + 0.1' "$LOG"
}

# bats test_tags=turn:3
@test "a step that is stopped does not keep the others waiting" {
	run -0 awf-run -n -- bash -c '
		echo | awf-step -r -m openai/m -p "first later:20000000" slow | wc -c >slow &
		until [ -n "$(events begin)" ]; do sleep 0.01; done
		step=$(pgrep -f "^[^ ]*awf-step -r -m openai/m -p first later")
		kill -STOP $step
		others=
		for i in 1 2 3; do name=s$i ask "$i large:2000000" | wc -c & others="$others $!"; done
		wait $others
		workers | wc -l
		events end | sort
		kill -CONT $step
		wait
		cat slow'
	same "$output" "$(printf '2000001\n2000001\n2000001\n1\n1 large:2000000\n2 large:2000000\n3 large:2000000\n20000001')"
	no_workers
}

@test "a worker that is killed: each of its calls is made once more, which is no retry, and then by itself" {
	seq 20 | sed 's/$/ wait:1/' >in
	run -0 awf-run -n -- bash -c 'items -j 20 --retries 0 all <in & until [ "$(events begin | wc -l)" -ge 20 ]; do sleep 0.02; done
		kill -9 $(workers); wait'
	same "$(sort -n -k 2 <<<"$output")" "$(sed 's/^/said /' in)"
	same "$(events begin | sort | uniq -c | awk '{ print $1 }' | sort -u)" 2
	same "$(payloads step.completed '[.retries[].code]' | sort | uniq -c | tr -s ' ')" ' 20 ["provider"]'
	awf-verify -q
	# The second that dies is the last one that is asked.
	: >"$LOG"
	head -n 3 in >in3
	run -0 awf-run -n -- bash -c 'items -j 3 --retries 1 --delay 1ms all <in3 & for n in 3 6; do until [ "$(events begin | wc -l)" -ge $n ]; do sleep 0.02; done
		kill -9 $(workers); done
		until [ "$(events begin | wc -l)" -ge 9 ]; do sleep 0.02; done; workers | wc -l >left; wait'
	same "$(sort -n -k 2 <<<"$output")" "$(sed 's/^/said /' in | head -n 3)"
	same "$(cat left)" 0
}

@test "after such a death a step that may not retry fails, if its next provider does not answer either" {
	run -3 --separate-stderr awf-run -n -- bash -c 'echo | awf-step -q -r --retries 0 --timeout 500ms -m openai/m -p "x hang" s & until [ -n "$(events begin)" ]; do sleep 0.02; done
		kill -9 $(workers); wait $!'
	same "$(events begin | wc -l)" 2
	[[ "$stderr" == *'no answer after '* ]]
}

@test "a worker that has no time is neither replaced nor taken for dead" {
	cat >deaf.py <<-'PYTHON'
		import glob, os, socket, sys, time
		os.chdir(os.environ["AWF_STORAGE"] + "/runs/" + os.environ["AWF_RUN_ID"] + "/workers")
		name = glob.glob("*.0.lock")[0][:-len(".lock")]
		os.unlink(name)
		listener = socket.socket(socket.AF_UNIX)
		listener.bind(name)
		listener.listen(0)
		waiting = []
		try:
		    while True:
		        waiting.append(socket.socket(socket.AF_UNIX))
		        waiting[-1].setblocking(False)
		        waiting[-1].connect(name)
		except BlockingIOError:
		    print(os.stat(name).st_ino, flush=True)
		time.sleep(60)
	PYTHON
	run -0 awf-run -n -- bash -c 'name=a ask one ok; kill $(workers)
		python3 -S deaf.py >inode & deaf=$!; until [ -s inode ]; do sleep 0.02; done
		name=b ask two ok; name=c ask three ok
		ls "$AWF_STORAGE/runs/$AWF_RUN_ID/workers"/*.lock | wc -l
		stat -c %i "$AWF_STORAGE/runs/$AWF_RUN_ID/workers"/*.0 | diff - inode && echo same; kill $deaf'
	same "$output" "$(printf 'said one ok\nsaid two ok\nsaid three ok\n2\nsame')"
}

# bats test_tags=turn:2
@test "a large request is sent by a provider of its own" {
	head -c 5000000 /dev/zero | tr '\0' y >large
	run -0 awf-run -n -- bash -c 'name=a ask one ok; { cat large; echo " two ok"; } | awf-step -r -m openai/m b | tail -c 8
		workers | wc -l; name=c ask three ok'
	same "$output" "$(printf 'said one ok\n two ok\n1\nsaid three ok')"
	# A worker has no room for what is larger, whoever sends it.
	cat >large.py <<-'PYTHON'
		import glob, os, socket
		os.chdir(os.environ["AWF_STORAGE"] + "/runs/" + os.environ["AWF_RUN_ID"] + "/workers")
		s = socket.socket(socket.AF_UNIX)
		s.connect(glob.glob("*.lock")[0][:-len(".lock")])
		assert s.recv(100) == b'{"worker":1}\n'
		try:
		    for i in range(100):
		        s.sendall(b"x" * 100000)
		    print("all")
		except (BrokenPipeError, ConnectionResetError):
		    print("closed")
	PYTHON
	run -0 awf-run -n -- bash -c 'name=a ask one ok; python3 -S large.py; name=b ask two ok; workers | wc -l'
	same "$output" "$(printf 'said one ok\nclosed\nsaid two ok\n1')"
}

@test "a key that is rejected for many requests is asked for once" {
	mkdir -p "$XDG_CONFIG_HOME/awf/endpoints"
	cat >"$XDG_CONFIG_HOME/awf/endpoints/work.json" <<-JSON
		{"protocol": "chat", "base_url": "$OPENAI_BASE_URL",
		 "key": {"command": ["sh", "-c", "cd $PWD; echo x >>runs; echo key-\$(wc -l <runs)"], "header": "authorization: Bearer "}}
	JSON
	seq 30 | sed 's/$/ needs:key-2/' >in
	run -0 awf-run -- awf-step -r -i lines -j 30 -m work/m -p '{{data}}' all <in
	same "$(sort -n -k 2 <<<"$output")" "$(sed 's/^/said /' in)"
	same "$(wc -l <runs)" 2
}

@test "a key command that fails fails all the requests that wait for it at once; a slow one runs once" {
	mkdir -p "$XDG_CONFIG_HOME/awf/endpoints"
	for name in bad slow; do
		cat >"$XDG_CONFIG_HOME/awf/endpoints/$name.json" <<-JSON
			{"protocol": "chat", "base_url": "$OPENAI_BASE_URL",
			 "key": {"command": ["sh", "-c", "cd $PWD; echo x >>runs.$name; sleep 1; [ $name = slow ] && echo key"], "header": "authorization: Bearer "}}
		JSON
	done
	seq 20 | sed 's/$/ ok/' >in
	run -3 --separate-stderr awf-run -- awf-step -i lines -j 20 -m bad/m -p '{{data}}' all <in
	[ "$(wc -l <runs.bad)" -le 2 ]
	run -0 awf-run -- awf-step -r -i lines -j 20 -m slow/m -p '{{data}}' all <in
	same "$(sort -n -k 2 <<<"$output")" "$(sed 's/^/said /' in)"
	same "$(wc -l <runs.slow)" 1
}

@test "while a key command runs, the other requests of its worker go on, and who waits for it can be cancelled" {
	mkdir -p "$XDG_CONFIG_HOME/awf/endpoints"
	cat >"$XDG_CONFIG_HOME/awf/endpoints/work.json" <<-JSON
		{"protocol": "chat", "base_url": "$OPENAI_BASE_URL",
		 "key": {"command": ["sh", "-c", "cd $PWD; echo x >>runs; n=\$(wc -l <runs); [ \$n = 1 ] || sleep 3; echo key-\$n"], "header": "authorization: Bearer "}}
	JSON
	run -0 awf-run -n -- bash -c '
		say() { name=$1; shift; echo | awf-step -r -m work/m -p "$*" "$name"; }
		{ say a one wait:1.5 >a; date +%s%3N >a.time; } &
		until [ "$(wc -l <"$LOG")" -ge 1 ]; do sleep 0.02; done
		{ say b two needs:key-2 >b; date +%s%3N >b.time; } &
		until [ "$(wc -l <runs)" = 2 ]; do sleep 0.02; done
		say c three ok >c &
		echo | awf-step -r --try -q --timeout 300ms --retries 0 -m work/m -p "four ok" d 2>/dev/null
		date +%s%3N >d.time
		wait
		cat a b c; workers | wc -l'
	same "$output" "$(printf 'said one wait:1.5\nsaid two needs:key-2\nsaid three ok\n1')"
	same "$(wc -l <runs)" 2
	[ $(($(cat b.time) - $(cat a.time))) -gt 500 ]
	[ $(($(cat b.time) - $(cat d.time))) -gt 1000 ]
	same "$(events begin | grep -c four)" 0
}

# bats test_tags=turn:4
@test "answers in large events do not all come at once: a worker takes no more memory than it says" {
	seq 10 | sed 's/$/ event:24000000/' >in
	run -0 awf-run -- bash -c 'items -j 10 all | tr -d x | wc -l; for p in $(workers); do grep VmHWM "/proc/$p/status"; done' <in
	same "${lines[0]}" 10
	[ "$(awk '{ print $2 }' <<<"${lines[1]}")" -lt 800000 ]
}

@test "few descriptors: a worker takes as many clients as it has room for" {
	seq 40 | sed 's/$/ wait:0.5/' >in
	run -0 bash -c 'ulimit -Sn 64; awf-run -- bash -c "items -j 40 all; workers | wc -l" <in'
	same "$(head -n 40 <<<"$output" | sort -n -k 2)" "$(sed 's/^/said /' in)"
	same "${lines[-1]}" 1
	run -0 bash -c 'ulimit -n 90; awf-run -- bash -c "items -j 40 all; workers | wc -l" <in'
	same "${lines[-1]}" 3
}

@test "requests whose connections are reset are made again; those beside them go on" {
	{ seq 10 | sed 's/$/ wait:1/'; echo '11 reset'; } >in
	run -3 --separate-stderr awf-run -- bash -c 'items -j 11 --delay 10ms all' <in
	same "$(events begin | grep -c reset)" 3
	same "$(events end | sort -n | wc -l)" 10
	[[ "$stderr" == 'awf-step: all[10] ("11 reset"): openai: '* ]]
}

# bats test_tags=turn:4
@test "by HTTP/2 a worker's requests share one connection, and one that is not read does not stop the others" {
	command -v nginx >/dev/null || skip "no nginx"
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=server -addext subjectAltName=IP:127.0.0.1 \
		-keyout server.key -out server.pem 2>/dev/null
	port=$(python3 -S -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	cat >nginx.conf <<-END
		daemon off; pid nginx.pid; error_log error.log; worker_processes 1;
		events { worker_connections 4096; }
		http {
		  log_format used '\$connection \$server_protocol'; access_log access.log used;
		  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
		  uwsgi_temp_path uwsgi; scgi_temp_path scgi; keepalive_requests 45;
		  server { listen 127.0.0.1:$port ssl http2; ssl_certificate server.pem; ssl_certificate_key server.key;
		    location / { proxy_pass http://127.0.0.1:$(cat many.port); proxy_buffering off; proxy_http_version 1.1; } }
		}
	END
	[ "$(id -u)" -ne 0 ] || echo "user root;" >>nginx.conf
	nginx -p "$PWD" -c "$PWD/nginx.conf" -e error.log 3>&- 2>/dev/null &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	export OPENAI_BASE_URL="https://127.0.0.1:$port/v1" CURL_CA_BUNDLE="$PWD/server.pem"
	eventually curl -s --http1.1 -o /dev/null "https://127.0.0.1:$port/"
	seq 40 | sed 's/$/ wait:0.5/' >in
	run -0 awf-run -- bash -c 'items -j 40 all' <in
	same "$(sort -n -k 2 <<<"$output")" "$(sed 's/^/said /' in)"
	same "$(grep -c 'HTTP/2' access.log)" 40
	same "$(awk '/HTTP\/2/ { print $1 }' access.log | sort -u | wc -l)" 1
	# The server leaves the connection after so many requests: those that it has begun it ends.
	seq 120 | sed 's/$/ wait:0.1/' >in
	run -0 awf-run -- bash -c 'items -j 40 all' <in
	same "$(sort -n -k 2 <<<"$output")" "$(sed 's/^/said /' in)"
	run -0 awf-run -n -- bash -c '
		echo | awf-step -r -m openai/m -p "first later:50000000" slow | wc -c >slow &
		until events begin | grep -q first; do sleep 0.01; done
		step=$(pgrep -f "^[^ ]*awf-step -r -m openai/m -p first later")
		kill -STOP $step
		others=
		for i in 1 2 3; do name=s$i ask "$i large:2000000" | wc -c & others="$others $!"; done
		wait $others
		kill -CONT $step
		wait
		cat slow'
	same "$output" "$(printf '2000001\n2000001\n2000001\n50000001')"
}

# A certificate for this name of the server: server.pem, server.key.
certify() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=server \
		-addext "subjectAltName=$1" -keyout server.key -out server.pem 2>/dev/null
}

# Starts tests/support/http2-server.py, as OpenAI's.
http2_server() {
	certify IP:127.0.0.1
	LOG="$BATS_TEST_TMPDIR/http2.log"
	python3 -S "$ROOT/tests/support/http2-server.py" h2.port "$LOG" server.pem server.key 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually test -s h2.port
	export OPENAI_BASE_URL="https://127.0.0.1:$(cat h2.port)/v1" CURL_CA_BUNDLE="$PWD/server.pem" LOG
}

@test "a request that an HTTP/2 server says it has not processed is sent again, which is no try" {
	http2_server
	# All but the first of ten are above the last stream that GOAWAY names.
	seq 10 | sed 's/$/ goaway:10/' >in
	run -0 awf-run -- bash -c 'items -j 10 --retries 0 all' <in
	same "$(sort -n -k 2 <<<"$output")" "$(sed 's/^/said /' in)"
	same "$(jq -r .answer "$LOG" | sort | uniq -c | tr -s ' ' | paste -sd,)" ' 9 goaway, 10 ok'
	same "$(payloads step.completed .retries | sort -u)" null
	# A stream alone, the first of its connection and later ones.
	: >"$LOG"
	seq 4 | sed 's/$/ refused:2/' >in
	run -0 awf-run -- bash -c 'items --retries 0 all' <in
	same "$output" "$(sed 's/^/said /' in)"
	same "$(jq -r '"\(.said) \(.answer)"' "$LOG" | sort | uniq -c | awk '{ print $1 }' | paste -sd' ')" '1 2 1 2 1 2 1 2'
	same "$(payloads step.completed .retries | sort -u)" null
	awf-verify -q
}

@test "an HTTP/2 server that refuses for ever is a failed try; a connection that ends without a word, too" {
	http2_server
	run -3 --separate-stderr awf-step -r --retries 0 -m openai/m -p 'x refused:1000' s <<<''
	same "$(grep -c refused "$LOG")" 6
	[[ $stderr == *'openai: '* ]]
	: >"$LOG"
	run -3 --separate-stderr awf-step -r --retries 0 -m openai/m -p 'x dropped' s <<<''
	same "$(wc -l <"$LOG")" 1
	# On a connection that was used before, too.
	run -3 --separate-stderr awf-run -- bash -c 'items --retries 0 all' <<<$'1 ok\n2 dropped'
	same "$(jq -r .answer "$LOG" | paste -sd' ')" 'dropped ok dropped'
}

# It takes a thread of the worker for each look-up.
@test "the name of a server is looked up once for all who ask at the same time" {
	unshare -rm true 2>/dev/null || skip 'no namespaces here'
	certify DNS:server.test
	rm many.port
	many_server server.pem server.key
	echo '127.0.0.1 localhost server.test' >hosts
	export OPENAI_BASE_URL="https://server.test:$(cat many.port)/v1" CURL_CA_BUNDLE="$PWD/server.pem"
	cat >look.py <<-'PYTHON'
		import glob, os
		most = 0
		while not os.path.exists("over"):
		    for process in glob.glob("/proc/[0-9]*"):
		        try:
		            with open(process + "/cmdline", encoding="utf-8", errors="replace") as line:
		                if "--worker=" + os.environ["AWF_STORAGE"] in line.read():
		                    most = max(most, len(os.listdir(process + "/task")))
		        except OSError:
		            pass
		print(most)
	PYTHON
	seq 60 | sed 's/$/ together:60/' >in
	run -0 unshare -rm bash -c 'mount --bind hosts /etc/hosts
		awf-run -- bash -c "python3 -S look.py >most & items -j 60 all <in; touch over; wait"'
	same "$(sort -n -k 2 <<<"$output")" "$(sed 's/^/said /' in)"
	same "$(most)" 60
	[ "$(cat most)" -ge 1 ]
	[ "$(cat most)" -le 2 ]
}

@test "an authority that is in the bundle alone is found for all who ask at the same time" {
	unshare -rm true 2>/dev/null || skip 'no namespaces here'
	[ -e /etc/ssl/certs/ca-certificates.crt ] || skip 'no bundle of authorities where it is looked for'
	certify IP:127.0.0.1
	rm many.port
	many_server server.pem server.key
	export OPENAI_BASE_URL="https://127.0.0.1:$(cat many.port)/v1"
	unset CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR
	seq 40 | sed 's/$/ together:40/' >in
	run -0 unshare -rm bash -c 'mount -t tmpfs none /etc/ssl/certs && cp server.pem /etc/ssl/certs/ca-certificates.crt &&
		echo >/etc/ssl/certs/00000000.0 && exec awf-run -- bash -c "items -j 40 --retries 0 all <in"'
	same "$(sort -n -k 2 <<<"$output")" "$(sed 's/^/said /' in)"
	same "$(events begin | wc -l)" 40
}

@test "a worker that is killed amid answers: what had come of each is on record, beside the whole one" {
	seq 5 | sed 's/$/ half:1/' >in
	run -0 awf-run -n -- bash -c 'items -j 5 --retries 0 all <in & until [ "$(grep -c half "$LOG")" -ge 10 ]; do sleep 0.02; done
		sleep 0.2; kill -9 $(workers); wait'
	same "$(sort -n -k 2 <<<"$output")" "$(sed 's/^/said /' in)"
	same "$(payloads step.completed '[.retries[].code]' | sort | uniq -c | tr -s ' ')" ' 5 ["provider"]'
	# Nobody knows what it has used.
	same "$(payloads message.assistant 'select(.partial and .retry == null) | [(.blocks | map(.text) | join("")), .usage]' | sort | uniq -c | tr -s ' ')" \
		"$(for i in 1 2 3 4 5; do echo " 1 [\"said $i half:1\",null]"; done)"
	same "$(payloads message.assistant 'select(.partial | not)' | wc -l)" 5
	awf-verify -q
}

# bats test_tags=turn:2
@test "one large answer does not keep small ones waiting" {
	run -0 awf-run -n -- bash -c '
		echo | awf-step -r -m openai/m -p "first large:100000000" big | wc -c >big &
		until events begin | grep -q first; do sleep 0.01; done
		for i in 1 2 3 4 5; do name=s$i ask "$i ok"; done
		wait; cat big'
	same "$output" "$(printf 'said 1 ok\nsaid 2 ok\nsaid 3 ok\nsaid 4 ok\nsaid 5 ok\n100000001')"
	same "$(events end | tail -n 1)" 'first large:100000000'
}

# Whether another process of the user cannot read the variables of this one.
hidden() { ! "${as[@]}" cat "/proc/$1/environ" >/dev/null 2>&1 && [ -e "/proc/$1" ]; }

@test "another process of the user cannot read the memory of a provider, which has the key" {
	as=()
	[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	cp "$BUILD/libexec/awf/awf-provider-openai" "$BATS_TEST_TMPDIR/provider"
	cd / || false
	"${as[@]}" "$BATS_TEST_TMPDIR/provider" --version >/dev/null || skip 'no other user here can run it'
	mkfifo "$BATS_TEST_TMPDIR/held"
	"${as[@]}" "$BATS_TEST_TMPDIR/provider" <"$BATS_TEST_TMPDIR/held" >/dev/null 2>&1 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	exec 8>"$BATS_TEST_TMPDIR/held"
	# One that can be read.
	"${as[@]}" sleep 60 3>&- 8>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually "${as[@]}" cat "/proc/$!/environ" >/dev/null
	pid=$(sed -n '$!{h;d};g;p' "$BATS_TEST_TMPDIR/model-server.pids")
	eventually hidden "$pid"
	exec 8>&-
}
