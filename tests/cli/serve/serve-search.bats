#!/usr/bin/env bats
# Searching in what was said in all runs: GET /api/search.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

search() { curl -s --max-time 20 -H "Authorization: Bearer $TOKEN" -o body -w '%{http_code}' -G "${@:2}" --data-urlencode "q=$1" "$URL/api/search"; }
found() { jq -r '.found[] | .name + ":" + ([.hits[] | "\(.path)/\(.type)/\(.found)"] | join(","))' body | paste -sd';'; }

@test "a text is found in values, in any case, as it is written, in the newest runs first" {
	awf-run -n --name one -c 'awf-step -n say -- echo "The Quick \"brown\" Ökonom"' >/dev/null
	awf-run -n --name two -c 'awf-step -n say -- printf "a\nquick\tÖKONOM\n"' >/dev/null
	awf-run -n --name three -c true
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(search quick)" 200
	same "$(jq -r '[.found[].name] | join(",")' body)" two,one
	same "$(jq -c '[.runs, .read, .cut, .unreadable, .next]' body)" '[3,3,0,0,null]'
	same "$(jq -r '.found[1].hits[-1] | .before + "[" + .found + "]" + .after' body)" 'The [Quick] "brown" Ökonom'
	same "$(search 'QUICK "BROWN" öKoNoM')" 200
	same "$(jq -r '[.found[].name] | join(",")' body)" one
	same "$(search konom)" 200
	same "$(jq -r '[.found[].name] | join(",")' body)" two,one
	same "$(search 'OKONOM')" 200
	same "$(found)" ''
	same "$(search $'a\nquick')" 400
	same "$(search QUICK -d name=two)" 200
	same "$(jq -r '[.found[].name] | join(",")' body)" two
	# Where the events are.
	same "$(curl -s -H "Authorization: Bearer $TOKEN" "$URL/api/runs/$(jq -r '.found[0] | "\(.run_id)/events/\(.hits[-1].seq)"' body)" | jq -r .path)" say
	# Names of members are not what was said.
	same "$(search input_sha256)" 200
	same "$(found)" ''
	same "$(search nowhere-at-all)" 200
	same "$(found)" ''
	same "$(search quick -d name=o\*)" 200
	same "$(jq -r '[.found[].name] | join(",")' body)" one
	same "$(search quick -d since=1h)" 200
	same "$(jq -r '[.found[].name] | join(",")' body)" two,one
	same "$(search quick -d since=2000-01-01 -d limit=1)" 200
	same "$(jq -r '[.found[].name] | join(",")' body)" two
	next=$(jq -r .next body)
	same "$(search quick -d limit=1 -d "before=$next")" 200
	same "$(jq -r '[.found[].name] | join(",")' body)" one
	same "$(jq -c '[.runs, .read, .next]' body)" '[3,3,null]'
	TOKEN=$(awf-serve --new-token read --name one)
	same "$(search quick)" 200
	same "$(jq -r '[.found[].name] | join(",")' body)" one
	same "$(jq .runs body)" 1
}

@test "what is no text to look for is refused; nothing is left behind" {
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(search '')" 400
	same "$(search "$(head -c 1001 /dev/zero | tr '\0' x)")" 400
	same "$(status_of -H "Authorization: Bearer $TOKEN" "$URL/api/search")" 400
	same "$(status_of -H "Authorization: Bearer $TOKEN" "$URL/api/search?q=%ff")" 400
	same "$(search x -d before=none)" 400
	same "$(search x)" 200
	same "$(jq -c '[.found, .runs, .read, .reaches, .next]' body)" '[[],0,0,null,null]'
	TOKEN=$(awf-serve --new-token start)
	same "$(search x)" 403
	run ! ls "$AWF_STORAGE"/serve/printed-*
}

@test "characters that are escaped in the record are found, too; many places in a run are told as more" {
	awf-run -n --name many -c 'for i in 1 2 3 4; do awf-step -n "s$i" -- echo needle; done' >/dev/null
	file=$(transcript)
	awf-run -n --name escaped -c 'awf-step -n say -- echo haystack' >/dev/null
	sed -i 's/"haystack"/"h\\u0061ystack \\ud83d\\ude00"/' "$(transcript)"
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(search haystack)" 200
	same "$(jq -r '[.found[].name] | join(",")' body)" escaped
	same "$(search '😀')" 200
	same "$(jq -r '[.found[].name] | join(",")' body)" escaped
	same "$(search needle)" 200
	same "$(jq -c '.found[0] | [.name, .more, (.hits | length)]' body)" '["many",true,5]'
	[ -s "$file" ]
}
