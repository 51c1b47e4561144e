#!/bin/sh
# Makes the container image of bin/hone twice and fails where the digests differ, has skopeo and umoci read it, and runs
# what it holds as its user, on a root that cannot be written to. $1 is a folder to work in.
set -eu
cd "$(dirname "$0")/.."
for reader in skopeo umoci bwrap; do
	if ! command -v $reader >/dev/null; then
		echo "there is no $reader, so nobody reads the image: apt-get install skopeo umoci bubblewrap" >&2
		exit 0
	fi
done
rm -rf "$1"
mkdir -p "$1/layout"
for copy in 1 2; do
	go run ./scripts/image -hone bin/hone -licences LICENSE -version check -time 1764428400 "$1/$copy.tar" >"$1/$copy.digest"
done
cat "$1/1.digest"
cmp "$1/1.digest" "$1/2.digest" && cmp "$1/1.tar" "$1/2.tar"
skopeo inspect "oci-archive:$1/1.tar" | grep -q "\"Digest\": \"$(sed 's/^image: //' "$1/1.digest")\""
tar -C "$1/layout" -xf "$1/1.tar"
umoci unpack --rootless --image "$1/layout:check" "$1/bundle"
mkdir "$1/bundle/rootfs/proc" "$1/bundle/rootfs/dev" # which a runtime makes
bwrap --unshare-all --uid 65532 --gid 65532 --ro-bind "$1/bundle/rootfs" / --tmpfs /tmp --proc /proc --dev /dev \
	--clearenv --setenv HOME /tmp /usr/local/bin/hone env client >"$1/client.py"
cmp "$1/client.py" internal/env/hone_env.py
echo "the image is the same twice, and skopeo, umoci and its own program read it"
