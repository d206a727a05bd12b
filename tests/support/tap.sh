#!/bin/sh
# Runs one test file and prints TAP.
case $1 in
*.bats) exec bats --tap "$1" ;;
*) exec "$1" 2>/dev/null ;;
esac
