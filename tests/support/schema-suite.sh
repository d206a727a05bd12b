#!/bin/sh
# Unpacks the copy of the JSON Schema Test Suite that a Debian package has into a
# directory, once, and prints where it is: schema-suite.sh DIR
set -eu
package=libtest-json-schema-acceptance-perl
mkdir -p "$1"
cd "$1"
suite=$PWD/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance
if [ ! -d "$suite" ]; then
	apt-get download -qq "$package" >&2
	dpkg-deb -x "$package"_*.deb .
fi
echo "$suite"
