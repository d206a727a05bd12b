#!/bin/sh
# Installs Debian packages: deps.sh [--if-missing] PACKAGE…
set -eu
only_missing=
if [ "${1-}" = --if-missing ]; then
	only_missing=1
	shift
fi
missing=
for package; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
		missing="$missing $package"
done
if [ -z "$missing" ]; then
	[ -n "$only_missing" ] || echo "deps: everything is there"
	exit 0
fi
echo "deps: installing$missing"
sudo=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "deps: install these as root:$missing" >&2
		exit 1
	}
	sudo=sudo
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
