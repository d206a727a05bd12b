#!/bin/sh
# usage: portable-symbols.sh BUILD
# The functions and variables that the programs of a portable build (make PORTABLE=1) take from the C library:
# fails if one is not in tests/portable.symbols, or if one there is no longer needed.
set -eu
build=$1
allowed=$(mktemp)
used=$(mktemp)
trap 'rm -f "$allowed" "$used"' EXIT
sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$(dirname "$0")/../portable.symbols" | tr -s ' \t' '\n' | LC_ALL=C sort -u >"$allowed"
# With sizes of 64 bits some have another name, and so have some where the standard asks for another behaviour.
find "$build"/bin "$build"/libexec/awf "$build"/libawf-transcript.so.* -type f ! -name '*.json' -exec nm -D -P --undefined-only {} + 2>/dev/null |
	awk 'NF > 1 { sub(/@.*/, "", $1); print $1 }' |
	sed 's/^__isoc[0-9]*_//; s/^__xpg_//; s/^__errno_location$/errno/; s/^__sigsetjmp$/sigsetjmp/
		s/^__uflow$/getc_unlocked/; s/^__environ$/environ/; s/^_setjmp$/setjmp/; s/^__register_atfork$/pthread_atfork/
		s/^__cxa_atexit$/atexit/
		s/^\(open\|openat\|creat\|lseek\|pread\|pwrite\|stat\|fstat\|lstat\|fstatat\|statvfs\|fstatvfs\|truncate\|ftruncate\|readdir\|mmap\|mkstemp\|mkostemp\|fopen\|freopen\|tmpfile\|getrlimit\|setrlimit\|posix_fallocate\|fcntl\|glob\|globfree\|alphasort\|scandir\|fseeko\|ftello\|nftw\)64$/\1/' |
	LC_ALL=C sort -u |
	grep -vE '^(json_|curl_|crypto_|sodium_|randombytes|yaml_|sqlite3_|PQ|_ITM_|__gmon_start__$|__cxa_finalize$|__libc_start_main$|__stack_chk_fail$|__tls_get_addr$|__ctype_|__assert_fail$)' >"$used"
failed=0
if LC_ALL=C comm -23 "$used" "$allowed" | grep . >&2; then
	echo 'portable-symbols.sh: these are not in tests/portable.symbols' >&2
	failed=1
fi
if LC_ALL=C comm -13 "$used" "$allowed" | grep . >&2; then
	echo 'portable-symbols.sh: these of tests/portable.symbols are not used' >&2
	failed=1
fi
exit "$failed"
