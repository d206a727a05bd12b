load ../../support/helpers
bats_require_minimum_version 1.5.0

# The model server that other tests rely on.

prepare() {
	for n in 1 2 3; do echo "{\"type\":\"t$n\",\"n\":$n}" >"$n.jsonl"; done
}

post() { curl -sS -d "${1-{\}}" -H 'x-api-key: sk-secret' -H 'authorization: Bearer sk-secret' "$MODEL_SERVER/v1/messages"; }
number() { sed -n 's/.*"n":\([0-9]\).*/\1/p; s/.*no answer is left.*/none/p'; }

@test "answers in order, as server-sent events" {
	model_server --answer 1.jsonl --answer 2.jsonl
	same "$(post)" $'event: t1\ndata: {"type":"t1","n":1}'
	same "$(post | number)" 2
	same "$(post | number)" none
}

@test "answers by what is in the request, and from the start again" {
	model_server --answer 1.jsonl --answer-for who 2.jsonl --answer-for who 3.jsonl --loop
	same "$(for body in who x who who x; do post "$body" | number; done | paste -sd' ')" '2 1 3 2 1'
}

@test "an answer that a fault spoilt is given again" {
	model_server --answer 1.jsonl --answer 2.jsonl --fault 1:500 --fault 2:cut:3 --fault 3:split:2
	same "$(for _ in 1 2 3 4; do post 2>/dev/null | number; done | paste -sd' ')" '1 2'
}

@test "requests are counted and logged, keys are not" {
	model_server --answer 1.jsonl --loop
	post '{"a": 1}' >/dev/null
	post 'no JSON' >/dev/null
	same "$(curl -s "$MODEL_SERVER/count" | jq .requests)" 2
	same "$(jq -c '[.request, .path, .body, .headers.authorization, .headers["x-api-key"]]' "$MODEL_SERVER_LOG" | paste -sd' ')" \
		'[1,"/v1/messages",{"a":1},true,true] [2,"/v1/messages","no JSON",true,true]'
	! grep sk-secret "$MODEL_SERVER_LOG"
}

@test "a chat completion, a response and a message are answers without a stream" {
	for whole in '{"object":"response","n":1}' '{"type":"message","n":1}'; do
		echo "$whole" >whole.jsonl
		model_server --answer whole.jsonl
		same "$(post)" "$whole"
	done
	echo '{"object":"chat.completion","n":1}' >whole.jsonl
	model_server --answer whole.jsonl --fault 2:429
	same "$(post)" '{"object":"chat.completion","n":1}'
	same "$(curl -sS -d '{}' -o error -w '%{content_type} %{http_code}' "$MODEL_SERVER/v1/chat/completions")" 'application/json 429'
	model_server --answer whole.jsonl --answer 1.jsonl
	same "$(for _ in 1 2; do curl -sS -d '{}' -o answer -w '%{content_type}\n' "$MODEL_SERVER/v1/chat/completions"; done)" \
		$'application/json\ntext/event-stream'
}

@test "serves HTTPS" {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test \
		-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out certificate.pem 2>openssl.log
	model_server --answer 1.jsonl --tls certificate.pem key.pem
	same "${MODEL_SERVER%%:*}" https
	export CURL_CA_BUNDLE=$PWD/certificate.pem
	same "$(post | number)" 1
	same "$(curl -s "$MODEL_SERVER/count" | jq .requests)" 1
}

@test "requests do not wait for each other" {
	model_server --answer 1.jsonl --answer 2.jsonl --fault 1:slow:60000
	post >/dev/null &
	slow=$!
	until [ "$(curl -s "$MODEL_SERVER/count" | jq .requests)" -eq 1 ]; do sleep 0.02; done
	same "$(post | number)" 2
	kill "$slow"
}

@test "SIGTERM ends it, stalled answers or not" {
	model_server --answer 1.jsonl --fault 1:stall
	post >/dev/null &
	until [ "$(curl -s "$MODEL_SERVER/count" | jq .requests)" -eq 1 ]; do sleep 0.02; done
	kill "$MODEL_SERVER_PID"
	wait "$MODEL_SERVER_PID"
}

@test "usage" {
	while read -r options; do
		read -r expected
		# shellcheck disable=SC2086
		run model-server $options
		same "$options: $output ($status)" "$options: model-server: $expected"
	done <<-'END'
		--fault x
		--fault: 'x': expected N:KIND (1)
		--fault 0:stall
		--fault: '0:stall': expected a request's number or * (1)
		--fault 1:boom
		--fault: '1:boom': unknown kind (1)
		--fault 1:split
		--fault: '1:split': expected a number (1)
		--fault 1:error:500
		--fault: '1:error:500': expected error:STATUS:FILE (1)
		--answer-for x
		--answer-for: expected PATTERN and FILE (1)
		--tls x
		--tls: expected CERT and KEY (1)
		--tls none.pem none.pem
		none.pem: unable to open: No such file or directory (4)
		--answer none.jsonl
		none.jsonl: unable to open: No such file or directory (4)
		more
		more: unexpected argument (1)
	END
}
