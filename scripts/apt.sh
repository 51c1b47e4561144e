#!/bin/sh
# Checks for what a build and a run need from the system, and installs what Debian's packages have of it. Does nothing,
# and needs no network, where all is there.
set -eu

packages="" # what Debian can give
missing=""  # what the user must get: our versions are newer than Debian's

have() { command -v "$1" >/dev/null 2>&1; }
want() { # want PACKAGE COMMAND...: the package is needed if the command fails
	package=$1
	shift
	"$@" >/dev/null 2>&1 || packages="$packages $package"
}
atleast() { # atleast NAME MAJOR.MINOR HAVE
	[ "$(printf '%s\n' "$2" "$3" | sort -V | head -n 1)" = "$2" ] || missing="$missing
  $1 $2 or newer (found: ${3:-none})"
}

want gcc have cc
want git have git
want python3 have python3
want python3-pip python3 -m pip --version
want python3-venv python3 -c 'import ensurepip, venv'
if [ "$(uname -s)" = Linux ]; then
	want bubblewrap have bwrap # keeps a server's process away from the user's files
fi
version() { have "$1" && "$@" 2>/dev/null | sed -n 's/^[^0-9]*\([0-9][0-9.]*\).*/\1/p' | head -n 1; }
# Go before 1.21 cannot fetch the toolchain that go.mod names; later ones do.
atleast Go 1.21 "$(version go version)"
atleast Node.js 20 "$(version node --version)"

if [ -n "$missing" ]; then
	echo "hone needs, and this machine lacks:$missing" >&2
fi
if [ -n "$packages" ]; then
	command="apt-get install -y --no-install-recommends$packages"
	if [ "$(id -u)" != 0 ] || ! have apt-get; then
		echo "missing:$packages; on Debian and Ubuntu: sudo $command" >&2
		exit 1
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq && $command -qq
fi
[ -z "$missing" ]
