#!/bin/sh
# Prints the -run expression of a package's tests that -race leaves out: those in files which it does not build. So a test
# is run without -race by standing in such a file, and none has to be named anywhere. Without a package it prints those that
# have such files, beside the ones that -race leaves out whole.
set -eu
if [ $# = 0 ]; then
	grep -rl '^//go:build !race$' --include='*_test.go' cmd internal | xargs -n1 dirname | sort -u | grep -v '^internal/learn/' | sed 's,^,./,'
	exit
fi
dir=$(go list -f '{{.Dir}}' "$1")
files() { go list -f '{{range .TestGoFiles}}{{println .}}{{end}}{{range .XTestGoFiles}}{{println .}}{{end}}' "$@" | sed '/^$/d' | sort; }
raced=$(mktemp)
trap 'rm -f "$raced"' EXIT
files -race "$1" > "$raced"
names=$(files "$1" | comm -23 - "$raced" | while read -r file; do
	sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' "$dir/$file"
done | paste -sd '|' -)
[ -n "$names" ] || { echo "$1: no test is left out of -race" >&2; exit 1; }
echo "^($names)\$"
