#!/usr/bin/env bats
# awf-serve: what those try who mean it no good.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

record() { printf 'a\n' | awf-run --name demo -c 'awf-step -i lines up -q -- tr a-z A-Z'; }

# Bytes as printf writes them, with HOST for the header, get one answer, this status, as JSON,
# and the connection is closed.
refused() {
	local answer head
	exec 9<>"/dev/tcp/127.0.0.1/$PORT"
	# shellcheck disable=SC2059 # it is a format
	env printf "${2//HOST/Host: 127.0.0.1:$PORT}" >&9
	answer=$(timeout 5 cat <&9 && echo '[closed]')
	exec 9>&-
	head=${answer%%$'\r\n\r\n'*}
	[[ $answer == "HTTP/1.1 $1 "*'[closed]' && ${answer#HTTP} != *HTTP/1.?' '[0-9]* &&
		${head,,} == *$'\ncontent-type: application/json'* && ${head,,} == *$'\nconnection: close'* ]] &&
		jq -e '.error | .code and .message' <<<"${answer:${#head}:-8}" >/dev/null || {
		printf 'of: %s\nhave: %s\n' "$2" "$answer" >&2
		return 1
	}
}

# bats test_tags=turn:2
@test "a request that could be read in two ways is refused, and no other one is read behind it" {
	serve
	while IFS=$'\t' read -r status bytes; do
		refused "$status" "$bytes"
	done <<-'END'
		400	GET / HTTP/1.1\r\n\r\n
		400	GET / HTTP/1.1\r\nHost:\r\n\r\n
		400	GET / HTTP/1.1\r\nHOST\r\nHOST\r\n\r\n
		400	GET / HTTP/1.1\r\nHOST\r\nhost: evil\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Length: 5, 5\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Length: +5\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Length: -5\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Length: 0x5\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Length: 5 5\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Length:\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Length: 18446744073709551621\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHOST\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHOST\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.0\r\nHOST\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Length : 5\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\n Content-Length: 5\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nX: y\r\n Content-Length: 5\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n
		400	GET /healthz HTTP/1.1\nHOST\n\n
		400	GET /healthz HTTP/1.1\r\nHOST\n\r\n
		400	GET /healthz HTTP/1.1\r\nHOST\r\n\nGET /healthz HTTP/1.1\r\nHOST\r\n\r\n
		400	GET /healthz HTTP/1.1\r\nHOST\r\nX: a\rb\r\n\r\n
		400	GET /healthz HTTP/1.1\r\nHOST\r\nX: a\0b\r\n\r\n
		400	GET /healthz HTTP/1.1\r\nHOST\r\nX\0Y: a\r\n\r\n
		400	GET /healthz HTTP/1.1\r\nHOST\r\n: a\r\n\r\n
		400	GET /healthz HTTP/1.1\r\nHOST\r\nnothing\r\n\r\n
		400	GET  /healthz HTTP/1.1\r\nHOST\r\n\r\n
		400	GET\t/healthz\tHTTP/1.1\r\nHOST\r\n\r\n
		400	GET /healthz\0 HTTP/1.1\r\nHOST\r\n\r\n
		400	GET /healthz HTTP/1.1 \r\nHOST\r\n\r\n
		400	GET /healthz http/1.1\r\nHOST\r\n\r\n
		400	GET /healthz\r\n\r\n
		400	/healthz\r\n\r\n
		400	\r\n\r\n\r\n
		400	G@T /healthz HTTP/1.1\r\nHOST\r\n\r\n
		505	GET /healthz HTTP/2.0\r\nHOST\r\n\r\n
		505	GET /healthz HTTP/0.9\r\nHOST\r\n\r\n
		400	\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03
		400	GET /healthz HTTP/1.1\r\nHOST\r\nContent-Length: 5\r\n\r\nhello
		400	GET /healthz HTTP/1.1\r\nHOST\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n
		417	POST /api/session HTTP/1.1\r\nHOST\r\nExpect: 200-ok\r\nContent-Length: 5\r\n\r\nhello
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n000000005\r\nhello\r\n0\r\n\r\n
		400	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: x\r\n\r\n
		413	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n
		413	POST /api/session HTTP/1.1\r\nHOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nhello
		404	POST /nothing HTTP/1.1\r\nHOST\r\nContent-Length: 5\r\n\r\nhello
		405	POST /healthz HTTP/1.1\r\nHOST\r\nContent-Length: 5\r\n\r\nGET /healthz HTTP/1.1\r\nHOST\r\n\r\n
	END
	same "$(status_of "$URL/healthz")" 200
	serve_end
}

@test "heads that are too large are refused, however large" {
	serve
	local many
	many=$(printf 'X-%d: y\\r\\n' {1..64})
	refused 431 "GET /healthz HTTP/1.1\r\nHOST\r\n$many\r\n"
	refused 431 "GET /healthz HTTP/1.1\r\nHOST\r\nX: $(printf 'x%.0s' {1..20000})\r\n\r\n"
	refused 414 "GET /$(printf 'x%.0s' {1..20000}) HTTP/1.1\r\nHOST\r\n\r\n"
	# 100,000 of them, and then for ever.
	{ printf 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n' "$PORT"; yes $'X-Field: value\r' | head -n 100000; printf '\r\n'; } | raw >answer
	same "$(head -n 1 answer)" $'HTTP/1.1 431 Request Header Fields Too Large\r'
	same "$(python3 -S "$ROOT/tests/support/hold.py" "$PORT" fast-head | cut -d' ' -f1)" 431
	# As many as there may be are taken.
	printf 'header = "X-%d: y"\n' {1..59} >fields
	same "$(status_of -K fields "$URL/healthz")" 200
	same "$(status_of -H "X: $(printf 'x%.0s' {1..15000})" "$URL/healthz")" 200
}

# bats test_tags=turn:2
@test "who sends a byte now and then is let go in time, and nobody waits for him" {
	serve
	for kind in head body chunks none; do
		python3 -S "$ROOT/tests/support/hold.py" "$PORT" "$kind" 30 >"$kind" 3>&- &
	done
	for _ in {1..10}; do same "$(status_of "$URL/healthz")" 200; done
	wait_for() { [ "$(wc -l <"$1")" -eq 30 ]; }
	# Limits are a twentieth in tests: of a head half a second, of a body 1.5.
	for kind in head body chunks none; do eventually wait_for "$kind"; done
	same "$(cut -d' ' -f1 head body chunks | sort | uniq -c | tr -s ' ')" ' 90 408'
	same "$(cut -d' ' -f1 none | uniq -c | tr -s ' ')" ' 30 -'
	awk '$2 > 0.4 && $2 < 1.5 { n++ } END { exit n != 60 }' head none || { cat head none >&2; return 1; }
	awk '$2 > 1.4 && $2 < 4 { n++ } END { exit n != 60 }' body chunks || { cat body chunks >&2; return 1; }
	# A body that is not wanted is not waited for, nor taken.
	for kind in fast-body fast-chunks; do
		read -r status seconds < <(python3 -S "$ROOT/tests/support/hold.py" "$PORT" "$kind")
		same "$status" 413
		awk "BEGIN { exit !($seconds < 3) }"
	done
	# Nor one whose sender asks first.
	same "$(head -c 100000 /dev/zero | status_of -H 'Expect: 100-continue' -H 'Content-Type: application/json' --data-binary @- "$URL/api/session")" 413
	same "$(status_of -H 'Expect: 100-continue' -H 'Content-Type: application/json' -d '{"code":"x"}' "$URL/api/session")" 401
}

@test "requests in a row are answered in a row" {
	serve
	request() { printf '%s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n%s\r\n' "$1" "$PORT" "${2-}"; }
	{
		request 'GET /healthz'
		printf '\r\n' # forgiven
		request 'HEAD /healthz'
		request 'GET /nothing'
		request 'POST /api/session' $'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n'
		printf '6\r\n{"code\r\nC\r\n":"nothing"}\r\n0\r\n\r\n'
		request 'GET /healthz' $'Connection: keep-alive, Close\r\n'
		request 'GET /healthz'
	} | raw >answer
	same "$(sed -n 's/^HTTP\/1.1 \([0-9]*\) .*/\1/p' answer | paste -sd' ')" '200 200 404 401 200'
	same "$(grep -c '^ok' answer)" 2
	same "$(tail -c 9 answer)" '[closed]'
	# By pieces, wherever they are cut.
	python3 - "$PORT" <<-'END'
		import re, socket, sys
		port = int(sys.argv[1])
		post = b"POST /api/session HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{\"code\r\nC\r\n\":\"nothing\"}\r\n0\r\n\r\n" % port
		both = post + b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % port
		for cut in range(1, len(both)):
		    s = socket.create_connection(("127.0.0.1", port))
		    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
		    s.sendall(both[:cut])
		    s.sendall(both[cut:])
		    got = b""
		    while data := s.recv(65536):
		        got += data
		    assert re.findall(rb"^HTTP/1.1 (\d+) ", got, re.M) == [b"401", b"200"], (cut, got)
		    assert got.endswith(b"\r\n\r\nok\n"), (cut, got)
	END
}

# bats test_tags=turn:3
@test "no name in a request leads out of the storage" {
	record
	run_id=$(basename "$(transcript)" .jsonl)
	echo 'what it holds' | tee "$AWF_STORAGE/canary" >"$BATS_TEST_TMPDIR/canary"
	ln -s "$BATS_TEST_TMPDIR/canary" "$AWF_STORAGE/transcripts/11111111-1111-4111-8111-111111111111.jsonl"
	mkdir flows
	echo 'echo no >"$AWF_STORAGE/started"' | tee flows/one.awf >two.awf
	serve --workflows flows
	for name in .. ../canary ../../canary "$AWF_STORAGE/canary" canary ./canary "$(transcript)" "@/../canary" \
		"$run_id/../../canary" 11111111-1111-4111-8111-111111111111 '~' '*' '%' ../two flows/one; do
		# Each slash and dot as it is, and escaped once and twice.
		for form in "$name" "$(sed 's/%/%25/g; s/\//%2f/g' <<<"$name")" "$(sed 's/%/%25/g; s/\//%2F/g; s/\./%2e/g' <<<"$name")" \
			"$(sed 's/%/%25/g; s/\//%252f/g; s/\./%252e/g' <<<"$name")" "$(sed 's/%/%25/g; s/\//%c0%af/g' <<<"$name")" \
			"$(sed 's/%/%25/g; s/\//\\/g' <<<"$name")" "$name%00" "%00$name"; do
			for path in "/$form" "/www/$form" "/api/runs/$form" "/api/runs/$form/events" "/api/runs/$form/events/stream" \
				"/api/runs/$run_id/events/$form" "/api/runs/$run_id/blobs/$form" "/api/runs/$form/outline" "/workflows/$form/events" \
				"/api/runs/$form/blobs/$form" "/api/runs/$form/input" "/runs/$form"; do
				printf 'url = "http://localhost%s"\n' "${path//\\/\\\\}"
			done
			for parameter in name status since limit before children; do
				printf 'url = "http://localhost/api/runs?%s=%s"\n' "$parameter" "${form//\\/\\\\}"
			done
			for parameter in after limit type path as follow; do
				printf 'url = "http://localhost/api/runs/@/events?%s=%s"\n' "$parameter" "${form//\\/\\\\}"
			done
			for parameter in outline?after outline?limit events/stream?afterSeq events/stream?live; do
				printf 'url = "http://localhost/api/runs/@/%s=%s"\n' "$parameter" "${form//\\/\\\\}"
			done
			printf 'url = "http://localhost/workflows/@/events?offset=%s"\n' "${form//\\/\\\\}"
			printf 'url = "http://localhost/api/runs/stream?children=%s"\n' "${form//\\/\\\\}"
		done
	done >urls
	sed -i 's/$/\noutput = "out"/' urls
	curl -sS --globoff --path-as-is --unix-socket "$BATS_TEST_TMPDIR/socket" -w '%{http_code}\n' \
		-K <(sed 's/^output.*//' urls) >answers
	run ! grep -qa 'what it holds' answers
	run ! grep -qa '^5..$' answers
	[ "$(grep -ca '^[1-4]..$' answers)" -ge 1000 ]
	# What is written, started and ended is so below the names of what is there.
	sed -n 's/^url = "http:..localhost.api.runs.\([^?]*\).events"$/\1/p' urls >names
	there() { find "$BATS_TEST_TMPDIR" ! -path "$AWF_STORAGE/incoming*" ! -path "$AWF_STORAGE/serve*" ! -name answers ! -name before -printf '%y %s %p\n' | sort; }
	there >before
	python3 - "$BATS_TEST_TMPDIR/socket" "$run_id" <<-'END' >answers
		import socket, sys
		body = b'{"status":"success","decision":"cancel"}'
		for line in open("names", "rb"):
		    name = line.rstrip(b"\n").replace(b"\\\\", b"\\")
		    for kind in b"POST /hooks/%s", b"PUT /api/runs/%s/blobs/%s", b"PUT /api/runs/@/blobs/%s", b"POST /api/runs/%s/end", b"POST /api/runs/%s/decisions":
		        s = socket.socket(socket.AF_UNIX)
		        s.connect(sys.argv[1])
		        s.sendall(kind.replace(b"%s", name) + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
		                  b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
		        print(s.recv(12)[9:].decode())
	END
	[ "$(grep -c '^4..$' answers)" -ge 500 ]
	run ! grep -qv '^4' answers
	there | diff before -
	# What is wrong with a file the log says once, however often it is asked for.
	same "$(grep -c 'unable to open' "$BATS_TEST_TMPDIR/serve.err")" 1
	serve_end
}

# bats test_tags=turn:2
@test "a page of another origin gets nothing, whatever name it has" {
	record
	serve
	token=$(awf-serve --new-token decide)
	auth=(-H "Authorization: Bearer $token")
	for host in evil.example "evil.example:$PORT" 127.0.0.1 "127.0.0.1:1" "127.0.0.1.evil.example:$PORT" "[::1]:$PORT" "localhost" \
		"127.0.0.1:$PORT@evil.example" "127.0.0.1:$PORT:1" " " "127.0.0.1:99999999999"; do
		for path in / /healthz /api/runs /api/session; do
			code=$(status_of "${auth[@]}" -H "Host: $host" "$URL$path")
			[ "$code" = 421 ] || [ "$code" = 400 ] || { echo "$host $path: $code" >&2; return 1; }
		done
	done
	same "$(status_of "${auth[@]}" -H "Host: localhost:$PORT" "$URL/api/runs")" 200
	session() { status_of -X POST -H 'Content-Type: application/json' -d "{\"token\":\"$token\"}" "$@" "$URL/api/session"; }
	for origin in http://evil.example null "http://127.0.0.1" "http://127.0.0.1:1" "http://127.0.0.1:$PORT.evil.example" \
		"ftp://127.0.0.1:$PORT" "127.0.0.1:$PORT" "http://localhost:$PORT"; do
		same "$(session -H "Origin: $origin")" 403
		same "$(status_of "${auth[@]}" -H "Origin: $origin" "$URL/api/runs")" 403
		same "$(status_of "${auth[@]}" -H "Origin: $origin" "$URL/api/runs/@/events/stream")" 403
	done
	for site in cross-site same-site; do
		same "$(session -H "Sec-Fetch-Site: $site")" 403
		same "$(status_of "${auth[@]}" -H "Sec-Fetch-Site: $site" "$URL/api/runs")" 403
	done
	same "$(session -H "Origin: $URL" -H 'Sec-Fetch-Site: same-origin')" 200
	# What forms of other pages can send is not taken, as it is of another type.
	for type in text/plain application/x-www-form-urlencoded multipart/form-data ''; do
		same "$(status_of -X POST -H "Content-Type: $type" -d "{\"token\":\"$token\"}" "$URL/api/session")" 415
	done
	# Nobody is told that he may read it.
	status_of "${auth[@]}" -D headers -H "Origin: $URL" "$URL/api/runs"
	run ! grep -qi '^access-control-' headers
	same "$(status_of -X OPTIONS -H 'Origin: http://evil.example' -H 'Access-Control-Request-Method: POST' "$URL/api/session")" 405
}

@test "no token counts that stands in a URL, in another header, or is cut" {
	record
	serve
	token=$(awf-serve --new-token read)
	for url in "?token=$token" "?access_token=$token" "?authorization=Bearer%20$token"; do
		same "$(status_of "$URL/api/runs$url")" 401
	done
	for header in "X-Authorization: Bearer $token" "Authorization: Basic $token" "Authorization: $token" "Authorization: Bearer" \
		"Authorization: Bearer ${token%?}" "Authorization: Bearer ${token}x" "Authorization: Bearer  $token" "Cookie: $token" \
		"Cookie: awf-session=$token" "X-Forwarded-For: 127.0.0.1"; do
		same "$(status_of -H "$header" "$URL/api/runs")" 401
	done
	same "$(status_of -H "Authorization: bearer $token" "$URL/api/runs")" 200
	# Without one nobody comes in over the Unix socket whom a proxy has let through.
	for header in Forwarded X-Forwarded-For X-Forwarded-Host X-Real-IP Via; do
		same "$(ask /api/runs -o /dev/null -w '%{http_code}' -H "$header: x")" 401
	done
}

# bats test_tags=turn:2
@test "what an event says is data for who reads it, in every form" {
	local evil='<script>alert(1)</script><img src=x onerror=alert(1)>'
	printf '%s' "$evil" | awf-run --name "x'<b>" -c 'awf-step -r -q "a<b>" -- cat; printf "%s" "$1" | awf-step -r -q b -- sh -c "cat >&2; exit 3"' "$evil" || true
	serve
	run_id=$(basename "$(transcript)" .jsonl)
	for path in /api/runs "/api/runs/$run_id" "/api/runs/$run_id/outline" "/api/runs/$run_id/events" "/api/runs/$run_id/events/2" \
		"/api/runs/$run_id/events/stream" "/api/runs/$run_id/events?as=runtime" "/api/runs/$run_id/events?as=<script>" \
		"/api/runs/<script>" '/<script>' "/workflows/$run_id/events" "/api/runs/$run_id/blobs/<script>" "/api/runs?name=<b>" \
		"/api/runs/$run_id/events/$evil"; do
		ask "${path// /%20}" -g -D headers -o body
		run ! grep -qiE '^content-type: (text/html|image/svg|application/xml|text/xml)' headers
		for field in 'content-type: [a-z]' 'x-content-type-options: nosniff' "content-security-policy: default-src 'none'; .*sandbox" \
			'cross-origin-resource-policy: same-origin' 'referrer-policy: no-referrer'; do
			grep -qi "^$field" headers || { echo "$path: no $field" >&2; cat headers >&2; return 1; }
		done
	done
	# A blob of it is saved, and runs nowhere.
	head -c 300000 /dev/zero | sed "s/^/<html>/" | awf-run --name blob -c 'awf-step -r -q a -- cat' >/dev/null
	sha=$(jq -r '.refs[0].sha256 // empty' "$AWF_STORAGE"/transcripts/*.jsonl | head -n 1)
	ask "/api/runs/@blob/blobs/$sha" -D headers -o body
	grep -qix $'content-type: application/octet-stream\r' headers
	grep -qix $'content-disposition: attachment\r' headers
	# The page itself runs nothing that it did not bring.
	ask / -D headers -o body
	grep -qi "^content-security-policy: default-src 'none'; script-src 'self';" headers
	run ! grep -qi 'unsafe-\|content-security-policy:.*\*' headers
}

@test "no event of a record can make another in a stream" {
	record
	file=$(transcript)
	serve
	# Line ends in all forms, within a text and between tokens; a foreign line.
	printf '%s' 'a
id: 99-00000000
event: end

data: {"seq":99}

' | awf-run --name lines -c 'awf-step -r -q "$(printf "x\ny")" -- cat' >/dev/null || true
	# shellcheck disable=SC2129
	printf '{"seq":7,\revent: end\rdata: {"status":"success"}\r\r"id":1}\n' >>"$file"
	printf '{"seq":8,"type":"x\xe2\x80\xa8event: end"}\n' >>"$file"
	printf ':\nevent: end\ndata: 1\n\n' >>"$file"
	for run in @lines "$(basename "$file" .jsonl)"; do
		ask "/api/runs/$run/events/stream" >stream
		# As a client of the standard reads it.
		python3 - stream <<-'END' >events
			import json, re, sys
			name = id = None
			data = []
			for line in re.split("\r\n|\r|\n", open(sys.argv[1], newline="").read()):
			    if not line:
			        if data:
			            print(json.dumps([name, id, "\n".join(data)]))
			        name, data = None, []
			        continue
			    field, _, value = line.partition(":")
			    value = value.removeprefix(" ")
			    if field == "event": name = value
			    elif field == "id": id = value
			    elif field == "data": data.append(value)
			    elif field not in ("", "retry"): sys.exit(f"another field: {line!r}")
		END
		same "$(jq -c 'select(.[0] == "end")' events | wc -l)" 1
		same "$(tail -n 1 events | jq -r '.[0]')" end
		same "$(jq -r 'select(.[0] == null) | .[2] | capture("\"seq\":(?<n>[0-9]+)").n' events | paste -sd' ')" \
			"$(grep -ao '^{"seq":[0-9]*' "$AWF_STORAGE/transcripts/$(ask "/api/runs/$run" | jq -r .run_id).jsonl" | tr -dc '0-9\n' | paste -sd' ')"
	done
}
