#!/bin/sh
# Runs every fuzz target of the module for $1 (10m), one after the other. A crash's input lands in that package's
# testdata/fuzz, where `go test` finds it again. The targets are listed by `go test`, so a new one is never forgotten.
set -eu
time=${1:-10m}

# go test prints the targets of a package, then "ok <tab> package <tab> time".
listing=$(go test -list '^Fuzz' ./...)
targets=$(echo "$listing" | awk '/^Fuzz/ { names[n++] = $1 } /^ok/ { for (i = 0; i < n; i++) print $2, names[i]; n = 0 }')
[ -n "$targets" ] || { echo "no fuzz target was found" >&2; exit 1; }
echo "$(echo "$targets" | wc -l) fuzz targets, $time each"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=""
while read -r package name; do
	echo "== $package $name"
	status=0
	# By itself go test spends up to a minute on shortening each input that reaches new code, and hardly tries others.
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 10x "$package" </dev/null >"$log" 2>&1 || status=$?
	cat "$log"
	# Now and then go test calls the end of its own time a failure; then it names no input (Go issue 75804, mended in 1.27).
	if [ $status != 0 ] && { grep -q 'Failing input' "$log" || ! grep -q '^ *context deadline exceeded' "$log"; }; then
		failed="$failed $package.$name"
	fi
done <<TARGETS
$targets
TARGETS
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
