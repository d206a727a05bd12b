#!/usr/bin/env bats
# examples/gates: an agent is led through the ten questions of a review.
load ../../support/helpers
bats_require_minimum_version 1.5.0

prepare() {
	git init -q project
	cd project
	git config user.email a@example.org
	git config user.name A
	echo one >code
	git add code
	git commit -q -m one
}

@test "ten questions, each asked once; what is not of the change is refused" {
	echo two >code
	git add code
	python3 -S - >told <<-'END'
		import json, os, subprocess
		client = subprocess.Popen(["python3", "-S", os.environ["ROOT"] + "/tests/support/mcp-client.py", "awf-mcp",
		    "-w", os.environ["ROOT"] + "/examples/gates"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		def call(tool, **arguments):
		    client.stdin.write("TOOL:%s %s\n" % (tool, json.dumps(arguments))); client.stdin.flush()
		    return json.loads(client.stdout.readline())
		def go_on(answer):
		    global state
		    said = call("continue_workflow", continueToken=state["continueToken"], answer=answer)
		    if "ok" not in said:
		        return print("refused:", said["failed"]["error"]["message"])
		    state = said["ok"]
		    print((state.get("prompt") or state["output"]).split("\n")[0])
		state = call("review")["ok"]
		print(state["prompt"].split("\n")[0])
		go_on("It counts on."); go_on("Nobody.")
		go_on([{"file": "other", "line": 1, "fault": "x"}])
		go_on([{"file": "code", "line": 1, "fault": "It is two."}])
		for _ in range(5): go_on([])
		go_on({"holds": ["It is two."], "dropped": []})
		go_on("Fine.")
		go_on("approve\nIt is two.")
		assert state["isComplete"], state
	END
	same "$(cat told)" 'Say in a few sentences what this change is for, and what it does to get there. diff --git a/code b/code
You said: It counts on.
Look at the change again with nothing else in mind than correctness: wrong results, edges, types, units. Give each fault with
refused: other is no file of the change: git diff --cached --name-only
Look at the change again with nothing else in mind than failure: errors that are not looked at, what is left half done, what leaks. Give each fault with
Look at the change again with nothing else in mind than security: input that is trusted, secrets, injection, paths. Give each fault with
Look at the change again with nothing else in mind than concurrency: races, order, what happens twice or at the same time. Give each fault with
Look at the change again with nothing else in mind than tests: what no test would notice if it broke. Give each fault with
Look at the change again with nothing else in mind than simplicity: what could be left out, said once, or named better. Give each fault with
These were found, in six looks: [[{"file":"code","line":1,"fault":"It is two."}],[],[],[],[],[]]
Write the review from what holds: {"holds":["It is two."],"dropped":[]}
refused: its first line is to be: approve, or: changes needed
approve'
	same "$(jq -r 'select(.payload.question).payload.name' "$(transcript)" | sort | uniq -c | tr -s ' \n' ' ')" \
		' 1 callers 6 look 1 purpose 1 report 1 verdict '
	awf-verify
	awf-verify --determinism
}

@test "nothing staged is told" {
	run -1 --separate-stderr "$ROOT/examples/gates/review.awf"
	[[ $stderr == *'review.awf: nothing is staged'* ]]
}
