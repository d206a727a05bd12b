#!/usr/bin/env bats
# Endpoints behind real servers: nginx with certificates of clients and at a Unix socket, a forward
# proxy.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	mkdir -p "$XDG_CONFIG_HOME/awf/endpoints"
	umask 022
	model_server --answer "$ROOT/tests/fixtures/openai/text.jsonl" --loop
	unset OPENAI_BASE_URL
}

# An authority, and what it says of a server on this machine and of a client.
certificates() {
	local name
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem 2>/dev/null
	for name in server client; do
		openssl req -newkey rsa:2048 -nodes -subj "/CN=$name" -keyout $name.key -out $name.csr 2>/dev/null
		openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out $name.pem \
			-extfile <(echo subjectAltName=IP:127.0.0.1) 2>/dev/null
	done
	chmod 600 ./*.key
}

# nginx before the model server, at a free port ($PORT) and at the socket nginx.sock; it demands a client's
# certificate.
gateway() {
	command -v nginx >/dev/null || skip "no nginx"
	certificates
	PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	cat >nginx.conf <<-END
		daemon off; pid nginx.pid; error_log error.log; worker_processes 1;
		events {}
		http {
		  access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
		  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
		  server { listen 127.0.0.1:$PORT ssl; ssl_certificate server.pem; ssl_certificate_key server.key;
		    ssl_client_certificate ca.pem; ssl_verify_client on;
		    location / { proxy_pass $MODEL_SERVER; proxy_buffering off; } }
		  server { listen unix:$PWD/nginx.sock; location / { proxy_pass $MODEL_SERVER; proxy_buffering off; } }
		}
	END
	[ "$(id -u)" -ne 0 ] || echo "user root;" >>nginx.conf
	nginx -p "$PWD" -c "$PWD/nginx.conf" -e error.log 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	until [ -S nginx.sock ] && curl -s -o unused --unix-socket nginx.sock http://x/count; do nap 0.05; done
}

endpoint() { cat >"$XDG_CONFIG_HOME/awf/endpoints/$1.json"; }
ask() { echo hi | awf-step -m "$1/m" -p 'say' -r ask; }

# bats test_tags=turn:3
@test "a gateway that demands a client's certificate" {
	gateway
	endpoint work <<-END
		{"protocol": "chat", "base_url": "https://127.0.0.1:$PORT/v1", "key": {"env": "WORK_KEY"},
		 "tls": {"ca": "$PWD/ca.pem", "cert": "$PWD/client.pem", "key": "$PWD/client.key"}}
	END
	export WORK_KEY=work-key-0123456789
	run -0 ask work
	[[ $output == *Gr* ]]
	same "$(jq .headers.authorization "$MODEL_SERVER_LOG")" true
	run -0 awf doctor --json
	# Without its certificate, and with an authority that is another, it is not asked.
	endpoint work <<-END
		{"protocol": "chat", "base_url": "https://127.0.0.1:$PORT/v1", "key": {"env": "WORK_KEY"}, "tls": {"ca": "$PWD/ca.pem"}}
	END
	run -3 ask work
	[[ $output == *"HTTP 400: 400 No required SSL certificate was sent" ]]
	endpoint work <<-END
		{"protocol": "chat", "base_url": "https://127.0.0.1:$PORT/v1", "key": {"env": "WORK_KEY"}, "tls": {"ca": "$PWD/client.pem"}}
	END
	run -3 ask work
	[[ $output == *certificate* ]]
	same "$(wc -l <"$MODEL_SERVER_LOG")" 1
}

# bats test_tags=turn:3
@test "a server at a Unix socket" {
	gateway
	endpoint here <<-END
		{"protocol": "chat", "base_url": "http://here/v1", "unix": "$PWD/nginx.sock"}
	END
	run -0 ask here
	[[ $output == *Gr* ]]
	same "$(jq -r .path "$MODEL_SERVER_LOG")" /v1/chat/completions
}

@test "a forward proxy of the environment" {
	command -v tinyproxy >/dev/null || skip "no tinyproxy"
	PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	printf '%s\n' "Port $PORT" 'Listen 127.0.0.1' 'Timeout 60' "LogFile \"$PWD/proxy.log\"" 'LogLevel Connect' \
		"PidFile \"$PWD/proxy.pid\"" >proxy.conf
	tinyproxy -d -c proxy.conf >proxy.out 2>&1 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	until curl -s -o unused "http://127.0.0.1:$PORT/"; do nap 0.05; done
	endpoint far <<-END
		{"protocol": "chat", "base_url": "http://localhost:${MODEL_SERVER##*:}/v1"}
	END
	export http_proxy=http://127.0.0.1:$PORT no_proxy=
	run -0 ask far
	[[ $output == *Gr* ]]
	grep -q "localhost" proxy.log
}
