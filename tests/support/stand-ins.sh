#!/bin/sh
# Makes libraries that stand for those that libcurl links and no test uses: stand-ins.sh CC DIR
#
# The libraries for Kerberos, LDAP, SSH, RTMP and the public suffixes, with all that they link in turn, take
# half of the time that a program with libcurl needs to start, and tests start such programs by the thousand.
# Each function of a stand-in returns 0. Where that does not work, none is made, and the programs find the
# libraries of the system.
set -u
cc=$1
mkdir -p "$2" && cd "$2" || exit
rm -f -- *
echo 'int main(void) { return 0; }' >linked.c

# LIBRARY PREFIX: a stand-in for liblibrary, of whose names libcurl knows those with the prefix.
stand_in() {
	library=$(awk -v name="lib$1" '$1 == "NEEDED" && index($2, name) == 1 { print $2 }' headers)
	[ -n "$library" ] || return 0
	awk -v prefix="^$2_" 'toupper($NF) ~ prefix { print (/ DO / ? "void *" $NF ";" : "long " $NF "(void) { return 0; }") }' \
		names >library.c
	awk -v library="$library:" '/required from/ { its = $3 == library } its && /0x/ { print $4 " { global: *; };" }' \
		headers >versions
	[ -s versions ] || echo '{ global: *; };' >versions
	"$cc" -w -shared -fPIC -nostdlib -Wl,-soname,"$library" -Wl,--version-script=versions -o "$library" library.c
}
all_of_them() {
	"$cc" -Wl,--no-as-needed -o linked linked.c -lcurl || return
	curl=$(ldd linked | awk '$1 ~ /^libcurl/ { print $3 }')
	objdump -p "$curl" >headers && objdump -T "$curl" | grep -F '*UND*' >names &&
		stand_in gssapi GSS && stand_in ldap LDAP && stand_in lber BER && stand_in ssh2 LIBSSH2 &&
		stand_in rtmp RTMP && stand_in psl PSL && [ -z "$(LD_LIBRARY_PATH=. ./linked 2>&1 || echo failed)" ]
}
all_of_them >/dev/null 2>&1 || rm -f -- *.so*
rm -f linked linked.c library.c headers names versions
