# Sourced by the bats files about repositories in a sandbox's workspace.
# shellcheck shell=bash

# Skips the test where there is no git, or nothing can be sandboxed; $sandbox is the program.
sandbox_and_git() {
	local name
	command -v git >/dev/null || skip 'no git'
	sandbox="$BUILD/libexec/awf/awf-sandbox"
	"$sandbox" -- true || skip 'this system lacks what a sandbox takes'
	export GIT_CONFIG_NOSYSTEM=1
	for name in AUTHOR COMMITTER; do
		export "GIT_${name}_NAME=user" "GIT_${name}_EMAIL=user@example.org"
	done
}
