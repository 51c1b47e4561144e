#!/bin/sh
# Runs every fuzz target of the module for $1 (10m), one after the other. A crash's input lands in that package's
# testdata/fuzz, where `go test` finds it again. The targets are listed by `go test`, so a new one is never forgotten.
set -eu
time=${1:-10m}

# go test prints the targets of a package, then "ok <tab> package <tab> time".
targets=$(go test -list '^Fuzz' ./... | awk '/^Fuzz/ { names[n++] = $1 } /^ok/ { for (i = 0; i < n; i++) print $2, names[i]; n = 0 }')
[ -n "$targets" ] || { echo "no fuzz target was found" >&2; exit 1; }
echo "$(echo "$targets" | wc -l) fuzz targets, $time each"
failed=""
while read -r package name; do
	echo "== $package $name"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$package" </dev/null || failed="$failed $package.$name"
done <<TARGETS
$targets
TARGETS
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
