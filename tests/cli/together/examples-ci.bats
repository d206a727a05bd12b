#!/usr/bin/env bats
# bats file_tags=turn:3
# examples/ci: the jobs for GitHub and GitLab are YAML, and what they run does what it says.
# shellcheck shell=bash disable=SC2016 # $variables of inner shells
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	python3 -c 'import yaml' 2>/dev/null || skip 'needs python3-yaml'
	# The machine of a job: a checkout of the repository, and nobody but its user.
	mkdir stubs machine
	printf '#!/bin/sh\ncase $1 in sysctl) exit ;; esac\nexec "$@"\n' >stubs/sudo
	chmod +x stubs/sudo
	cp -RL "$ROOT/examples/ci" checkout
	rm -rf checkout/recording && cp -R "$ROOT/examples/ci/recording" checkout
	rm "$XDG_DATA_HOME/awf/trust"
	# The answers of the example have no price.
	NO_PRICE='s/ --max-cost 1//'
	export AWF_MODEL=replay/answers.jsonl GITHUB_STEP_SUMMARY=$PWD/summary
}

# FILE JOB: what runs in the job, one after the other as a script, with its variables.
script_of() {
	python3 - "$ROOT/examples/ci/$1" "$2" <<-'END'
		import shlex, sys, yaml
		with open(sys.argv[1], encoding="utf-8") as file:
		    text = yaml.safe_load(file)
		job = text["jobs"][sys.argv[2]] if "jobs" in text else text[sys.argv[2]]
		for name, value in (job.get("env") or job.get("variables")).items():
		    if "${{" not in value:
		        print(f"export {name}={shlex.quote(value)}")
		if "steps" in job:
		    for step in job["steps"]:
		        print(step.get("run", ": " + shlex.quote(step["name"])))
		        # Each step has the programs that those before have put there.
		        print('[ ! -e "$GITHUB_PATH" ] || PATH=$(cat "$GITHUB_PATH"):$PATH')
		else:
		    for line in text["default"]["before_script"] + job["script"] + job.get("after_script", []):
		        print(line)
	END
}

@test "GitHub: installs the tarball, runs, keeps the recording and replays one" {
	# An installation in a tarball, as static programs come.
	make -s -C "$ROOT" -o all STATIC= BUILD="$BUILD" DESTDIR="$PWD/machine" PREFIX=/awf-0-x86_64-linux install
	tar -czf awf.tar.gz -C machine awf-0-x86_64-linux
	AWF_URL=file://$PWD/awf.tar.gz AWF_SHA256=$(sha256sum awf.tar.gz | cut -d' ' -f1) GITHUB_PATH=$PWD/path
	export AWF_URL AWF_SHA256 GITHUB_PATH
	for job in run replay; do
		rm -rf "$GITHUB_PATH" machine
		script_of github.yml "$job" |
			sed "s|/opt/awf|$PWD/machine/awf|g; s|/tmp/awf.tar.gz|$PWD/fetched.tar.gz|g; $NO_PRICE" >script
		[ "$job" != replay ] || sed -i "s/--determinism/& --isolation $(isolation)/" script
		(cd checkout && PATH=$PWD/../stubs:/usr/bin:/bin bash -e ../script) >said 2>&1 || { cat said; false; }
	done
	grep -q '^-- the maintainers' checkout/output.txt
	grep -q announce summary
	[ -s checkout/run/workflow/manifest.json ]
	# Another tarball than the one that was meant is not installed.
	echo changed >>awf.tar.gz
	rm -rf machine
	run -1 bash -c "cd checkout && PATH=$PWD/stubs:/usr/bin:/bin bash -e ../script"
	[ ! -e machine ]
}

@test "GitLab: runs, keeps the recording and replays one" {
	for job in run replay; do
		# Installing a package takes a machine of its own: make check-packages.
		script_of gitlab-ci.yml "$job" >script
		same "$(grep -c 'apt-get install -y -qq --no-install-recommends /tmp/awf.deb' script)" 1
		sed -i "/apt-get/d; /curl /d; /sha256sum/d; $NO_PRICE" script
		(cd checkout && bash -e ../script) >said 2>&1 || { cat said; false; }
	done
	grep -q '^-- the maintainers' checkout/output.txt
	grep -q announce said || [ -s checkout/run/workflow/manifest.json ]
}

@test "every job is YAML with the keys of its service" {
	python3 - "$ROOT"/examples/ci/*.yml <<-'END'
		import os, sys, yaml
		for path in sys.argv[1:]:
		    with open(path, encoding="utf-8") as file:
		        text = yaml.safe_load(file)
		    if os.path.basename(path) == "gitlab-ci.yml":
		        jobs = {name: job for name, job in text.items() if name != "default"}
		        assert jobs and all(job["script"] for job in jobs.values())
		    else:
		        # "on" is true in YAML 1.1.
		        assert text["name"] and text[True]
		        for job in text["jobs"].values():
		            assert job["runs-on"] and all("run" in step or "uses" in step for step in job["steps"])
	END
}
