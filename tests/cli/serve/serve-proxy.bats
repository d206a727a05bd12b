#!/usr/bin/env bats
# examples/serve: the units of systemd, and nginx in front of awf-serve.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

cleanup() {
	serve_end
	[ ! -s nginx.pid ] || kill "$(cat nginx.pid)" 2>/dev/null || true
	[ -z "${ACTIVATE-}" ] || kill "$ACTIVATE" 2>/dev/null || true
}
free_port() { python3 -Sc 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# The options of the service.
service() { sed -n 's|^ExecStart=/usr/local/bin/awf-serve ||p' "$ROOT/examples/serve/awf-serve.service" | sed "s|%h|$PWD|"; }

# nginx with the example, its places and ports put in.
proxy() {
	TLS=$(free_port)
	PLAIN=$(free_port)
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=awf.example.org \
		-addext subjectAltName=DNS:awf.example.org 2>openssl.err
	{
		echo "daemon off; pid $PWD/nginx.pid; error_log $PWD/nginx.err; events { }
			http { access_log off;"
		for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $PWD/$kind;"; done
		sed "/listen \[::\]/d; s/listen 443 ssl http2/listen 127.0.0.1:$TLS ssl http2/; s/listen 80/listen 127.0.0.1:$PLAIN/
			s|/etc/letsencrypt/live/awf.example.org/fullchain.pem|$PWD/cert.pem|
			s|/etc/letsencrypt/live/awf.example.org/privkey.pem|$PWD/key.pem|; s/127.0.0.1:8741/127.0.0.1:$PORT/" "$ROOT/examples/serve/nginx.conf"
		echo '}'
	} >nginx.conf
	nginx -e nginx.err -p "$PWD" -c "$PWD/nginx.conf" 3>&- &
	eventually through -o /dev/null /healthz
}
through() { curl -sSN --max-time 20 --cacert cert.pem --connect-to "awf.example.org:443:127.0.0.1:$TLS" "${@:1:$#-1}" "https://awf.example.org${*: -1}"; }

# bats test_tags=turn:2
@test "behind nginx, by TLS: pages, streams as they come, hooks, and who asks" {
	command -v nginx >/dev/null || skip "needs nginx"
	mkdir flows
	echo 'awf-step -q take -- cat >taken' >flows/deploy.awf
	mkfifo go
	awf-run -n --name slow -c 'awf-step -n a -q -- true; awf-step -n b -q -- cat go' 3>&- &
	runner=$!
	# shellcheck disable=SC2046
	serve $(service) --clients-per-address 3
	proxy
	same "$(through /healthz)" ok
	same "$(through / | head -c 15)" '<!doctype html>'
	same "$(through -o /dev/null -w '%{http_code}' /api/runs)" 401
	same "$(curl -s -o /dev/null -w '%{http_code} %{redirect_url}' -H 'Host: awf.example.org' "http://127.0.0.1:$PLAIN/runs/x")" '301 https://awf.example.org/runs/x'
	token=$(awf-serve --new-token decide --label proxy)
	bearer=(-H "Authorization: Bearer $token")
	same "$(through "${bearer[@]}" /api/runs | jq -c '[.runs[].name]')" '["slow"]'
	# The cookie is for TLS alone.
	through -D headers -o /dev/null -H 'Content-Type: application/json' -H 'Origin: https://awf.example.org' -d "{\"token\":\"$token\",\"cookie\":true}" /api/session
	grep -qi '^set-cookie: .*; Secure' headers
	grep -qi '^strict-transport-security: ' headers
	# Events come when they happen.
	through "${bearer[@]}" /api/runs/@/events/stream >stream 3>&- &
	stream=$!
	eventually grep -q '"path":"b"' stream
	run ! grep -q run.completed stream
	# The proxy is believed who asks; who asks is not, by the proxy.
	as_another=("${bearer[@]}" -H 'X-Forwarded-For: 192.0.2.7')
	for i in 1 2 3 4 5; do
		through "${as_another[@]}" '/api/runs/@/events/stream?follow=1' >"more.$i" 3>&- &
		streams+=($!)
		curl -sN "${as_another[@]}" "$URL/api/runs/@/events/stream?follow=1" >"direct.$i" 3>&- &
		streams+=($!)
	done
	refused() { [ "$(grep -l too_many direct.* | wc -l)" = 2 ]; }
	eventually refused
	echo >go
	wait "$runner" "$stream" "${streams[@]}"
	same "$(grep -l 'event: end' stream more.* direct.* | wc -l)" 9
}

# bats test_tags=turn:3
@test "a hook and a decision go through nginx" {
	command -v nginx >/dev/null || skip "needs nginx"
	mkdir flows
	echo 'awf-step --approve -q ok' >flows/deploy.awf
	(umask 077; echo secret >flows/deploy.secret)
	# shellcheck disable=SC2046
	serve $(service)
	proxy
	head -c 3000000 /dev/zero | tr '\0' x >body
	signature=$(openssl dgst -sha256 -hmac secret -r body | cut -c -64)
	same "$(through -H "X-Hub-Signature-256: sha256=$signature" --data-binary @body /hooks/deploy | jq -r .status)" started
	waits() { ask_runs | grep -q '"waiting":1'; }
	ask_runs() { through -H "Authorization: Bearer $(awf-serve --new-token read)" /api/runs; }
	eventually waits
	token=$(awf-serve --new-token decide --label proxy)
	same "$(through -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"decision":"approve","call":"ok"}' /api/runs/@/decisions | jq -r .by)" proxy
}

@test "the units: systemd takes them, and their socket is taken over" {
	command -v systemd-analyze >/dev/null && command -v systemd-socket-activate >/dev/null || skip "needs systemd"
	mkdir units flows "$AWF_STORAGE"
	for unit in awf-serve.socket awf-serve.service; do
		sed "s|/usr/local/bin/awf-serve|$(command -v awf-serve)|" "$ROOT/examples/serve/$unit" >"units/$unit"
	done
	run -0 env SYSTEMD_UNIT_PATH="$PWD/units:" systemd-analyze verify --man=no units/awf-serve.service
	same "$(grep -v 'awf\.bats\|snapd\|^$' <<<"$output" | grep awf-serve || true)" ''
	port=$(free_port)
	# shellcheck disable=SC2046
	JOURNAL_STREAM=1 systemd-socket-activate -E AWF_STORAGE -E PATH -E JOURNAL_STREAM -E HOME -l "127.0.0.1:$port" awf-serve $(service) >out 2>err 3>&- &
	ACTIVATE=$!
	answers() { [ "$(curl -s "http://127.0.0.1:$port/healthz")" = ok ]; }
	eventually answers
	grep -q "awf-serve: http://127.0.0.1:$port" err
	# No link to log in with is told to the journal.
	same "$(cat out)" ''
	same "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $(awf-serve --new-token read)" "http://127.0.0.1:$port/api/runs")" 200
}
