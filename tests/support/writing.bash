# Sourced by the bats files about text under way: a provider that does what a script says.
# shellcheck shell=bash disable=SC2016

# From here on scripted/m is a model that does for its request N what $SCRIPT/N.sh says. While the
# file `held` is there its answer can wait.
scripted_model() {
	export AWF_PROVIDER_PATH="$ROOT/tests/fixtures/providers" SCRIPT=$PWD
	mkdir agents tools
	cat >words <<-'END'
		say() { printf '{"id":%s,"type":"delta","kind":"%s","text":"%s"}\n' "$id" "${2-text}" "$1"; }
		blocks() { printf '{"id":%s,"type":"message","blocks":[%s],"stop_reason":"%s","usage":{},"model":"m"}\n' "$id" "$1" "${2-end_turn}"; }
		answer() { blocks '{"type":"text","text":"'"$1"'"}'; }
		fails() { printf '{"id":%s,"type":"error","category":"%s","message":"it failed"}\n' "$id" "$1"; }
		hold() { : >"$SCRIPT/ready"; while [ -e "$SCRIPT/held" ]; do sleep 0.02; done; }
	END
	: >held
}

# N LINE...: what is done for request N.
script() {
	local number=$1
	shift
	printf '%s\n' '. "$SCRIPT/words"' "$@" >"$number.sh"
}
go_on() { rm -f held ready; }
