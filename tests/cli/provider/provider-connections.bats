load ../../support/helpers
bats_require_minimum_version 1.5.0
load ../../support/provider

# How providers reach their API: connections that stay, proxies, TLS.

# relay MODE ARGUMENT...: starts tests/support/relay.py; its port is in $RELAY.
relay() {
	rm -f relay.port
	python3 -SB "$ROOT/tests/support/relay.py" "$@" >relay.port 3>&- &
	echo $! >>relay.pids
	eventually [ -s relay.port ]
	RELAY=$(cat relay.port)
}

cleanup() { if [ -f relay.pids ]; then xargs kill <relay.pids; fi; }

# certificate NAME: one for 127.0.0.1 or what NAME is, by an authority made for this.
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
		-subj '/CN=An authority of the tests' -keyout ca.key -out ca.pem 2>openssl.log
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
		-subj /CN=test -keyout server.key -out server.csr 2>>openssl.log
	openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
		-extfile <(echo "subjectAltName=$1") -out server.pem 2>>openssl.log
}

# A model server behind TLS, which the providers are pointed at.
tls_server() {
	model_server --answer "$ROOT/tests/fixtures/openai/text.jsonl" --loop
	certificate "${1-IP:127.0.0.1}"
	relay tls server.pem server.key "${MODEL_SERVER##*:}"
	export OPENAI_BASE_URL="https://127.0.0.1:$RELAY/v1"
	unset CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR
}

ask() { request | provider openai | jq -r '.category // .type'; }

@test "a call of three turns is one connection" {
	mkdir tools
	printf '#!/bin/sh\necho sunny\n' >tools/weather
	chmod +x tools/weather
	echo '{"name":"weather","description":"d","input_schema":{"type":"object"},"effects":"none"}' >tools/weather.tool.json
	while read -r name fixtures calls; do
		model_server --answer "$ROOT/tests/fixtures/$fixtures/$calls.jsonl" \
			--answer "$ROOT/tests/fixtures/$fixtures/$calls.jsonl" --answer "$ROOT/tests/fixtures/$fixtures/text.jsonl"
		printf '%s\n' --- "provider: $name" 'model: m' 'tools: [weather]' --- x >a.md
		awf-run -c 'echo hi | awf-step -a a.md -q ask' >/dev/null
		same "$name $(curl -s "$MODEL_SERVER/count" | jq -c '[.requests, .connections - 1]')" "$name [3,1]"
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		anthropic anthropic tools
		openai openai calls-by-index
		openai-responses openai-responses calls
	END
}

@test "a connection that the server closed between turns is made again" {
	relay proxy log
	model_server --answer "$ROOT/tests/fixtures/openai/text.jsonl" --loop
	mkfifo requests
	http_proxy=http://127.0.0.1:$RELAY no_proxy='' provider openai <requests >answers &
	exec 9>requests
	request 1 >&9
	eventually [ -s answers ]
	xargs kill <relay.pids
	rm relay.pids
	PORT=$RELAY relay proxy log
	request 2 >&9
	exec 9>&-
	eventually grep -q '"id":2' answers
	same "$(jq -r '.category // .type' answers | paste -sd' ')" 'message message'
}

@test "a proxy for plain HTTP" {
	relay proxy log
	model_server --answer "$ROOT/tests/fixtures/openai/text.jsonl" --loop
	unset OPENAI_API_KEY # with a key nothing would leave this machine
	same "$(http_proxy=http://user:secret@127.0.0.1:$RELAY no_proxy='' ask)" message
	grep -q "^POST $OPENAI_BASE_URL/chat/completions HTTP/1.1" log
	grep -qi "^Proxy-Authorization: Basic $(printf user:secret | base64)" log
}

@test "hosts in no_proxy are reached without it" {
	relay proxy log
	model_server --answer "$ROOT/tests/fixtures/openai/text.jsonl"
	same "$(http_proxy=http://127.0.0.1:$RELAY no_proxy=127.0.0.1 ask)" message
	[ ! -e log ]
}

@test "a proxy that is not there is named" {
	model_server --answer "$ROOT/tests/fixtures/openai/text.jsonl"
	run -0 env -u OPENAI_API_KEY http_proxy=http://127.0.0.1:1 no_proxy= "$BUILD/libexec/awf/awf-provider-openai" < <(request)
	same "$(jq -r .category <<<"$output")" network
	[[ $output == *'127.0.0.1 port 1 '* ]]
}

@test "a certificate of an authority that nobody trusts is refused" {
	tls_server
	run -0 provider openai < <(request)
	same "$(jq -r .category <<<"$output")" network
	[[ $output == *'certificate'*'; its authority can be named in CURL_CA_BUNDLE"}' ]]
	[ ! -s "$MODEL_SERVER_LOG" ]
}

@test "an authority in CURL_CA_BUNDLE or SSL_CERT_FILE is trusted" {
	tls_server
	same "$(CURL_CA_BUNDLE=ca.pem ask)" message
	same "$(SSL_CERT_FILE=ca.pem ask)" message
	same "$(CURL_CA_BUNDLE=ca.pem SSL_CERT_FILE=nowhere ask)" message
}

@test "the bundle of authorities is found wherever the system keeps it" {
	unshare -rm true 2>/dev/null || skip 'no namespaces here'
	tls_server
	for place in ssl/certs/ca-certificates.crt pki/tls/certs/ca-bundle.crt pki/ca-trust/extracted/pem/tls-ca-bundle.pem \
		ssl/ca-bundle.pem ssl/cert.pem nowhere; do
		# An /etc with nothing else in it.
		run -0 unshare -rm sh -c 'mount -t tmpfs none /etc && mkdir -p "/etc/${1%/*}" && cp ca.pem "/etc/$1" &&
			exec "$BUILD/libexec/awf/awf-provider-openai"' sh "./$place" < <(request)
		want=message
		[ "$place" != nowhere ] || want=network
		same "$place $(jq -r '.category // .type' <<<"$output")" "$place $want"
	done
}

@test "an authority that the system has is found by the hash of its name, and in the bundle" {
	unshare -rm true 2>/dev/null || skip 'no namespaces here'
	[ -e /etc/ssl/certs/ca-certificates.crt ] || skip 'no bundle of authorities where it is looked for'
	tls_server
	# What lies in /etc/ssl/certs: its hash alone, the bundle beside another hash, neither.
	hash=$(openssl x509 -noout -hash -in ca.pem).0
	for names in "$hash" 'ca-certificates.crt 00000000.0' ca-certificates.crt; do
		same "$(request | unshare -rm sh -c 'mount -t tmpfs none /etc/ssl/certs && for name in $1; do
			cp ca.pem "/etc/ssl/certs/$name"; done
			[ ! -e /etc/ssl/certs/00000000.0 ] || echo >/etc/ssl/certs/00000000.0
			exec "$2"' sh "$names" "$BUILD/libexec/awf/awf-provider-openai" | jq -r '.category // .type')" message
	done
}

@test "a file of authorities that is not there is named" {
	tls_server
	run -0 env CURL_CA_BUNDLE=nowhere.pem "$BUILD/libexec/awf/awf-provider-openai" < <(request)
	same "$(jq -r .category <<<"$output")" network
	[[ $output == *nowhere.pem* ]]
}

@test "a certificate for another host is refused, whoever made it" {
	tls_server DNS:example.org
	run -0 env CURL_CA_BUNDLE=ca.pem "$BUILD/libexec/awf/awf-provider-openai" < <(request)
	same "$(jq -r .category <<<"$output")" network
	[[ $output == *"host name '127.0.0.1'\"}" ]]
	[ ! -s "$MODEL_SERVER_LOG" ]
}

@test "TLS goes through a proxy unread" {
	tls_server
	target=127.0.0.1:$RELAY
	relay proxy log
	same "$(https_proxy=http://127.0.0.1:$RELAY no_proxy='' CURL_CA_BUNDLE=ca.pem ask)" message
	same "$(head -n 1 log | tr -d '\r')" "CONNECT $target HTTP/1.1"
	run ! grep -i authorization log
}
