#!/bin/sh
# A loop of COUNT steps, each reads what the one before gave: loop.sh COUNT LINE COMMAND…
count=$1 line=$2
shift 2
while [ "$count" -gt 0 ]; do
	line=$(printf '%s\n' "$line" | "$@")
	count=$((count - 1))
done
printf '%s\n' "$line"
