#!/bin/sh
# Builds the release of this commit: dist/hone-VERSION-OS-ARCH.tar.gz, on Linux dist/hone-VERSION-OS-ARCH.image.tar, a
# container image in the OCI's layout, and their checksums. The same commit, Go and C compiler give the same bytes; the
# image also holds this machine's C and C++ libraries and certificates. The version is the one Go reads from git: a tag,
# or one made of the commit.
set -eu
cd "$(dirname "$0")/.."
limit=$((54 * 1000 * 1000)) # bytes of each binary, without symbols and DWARF

rm -rf dist
mkdir -p dist/new
make --no-print-directory web
test -s internal/view/app/page.js || { echo "a release has the page of hone view: Node 20 and npm make it" >&2; exit 1; }
# -s -w: no symbols, no DWARF; stack traces do not need them. -l: no inlining in libraries that read files, flags,
# expressions and schemas, draw the terminal, write programs for the engine or speak HTTP, TLS and MCP, nor in rooms
# that read data, word tasks, render prompts, play episodes, speak protocols, open runs and show them, which saves 3 MB;
# no tensor is computed in them.
lean=
for library in github.com/parquet-go github.com/andybalholm github.com/expr-lang github.com/charmbracelet \
	charm.land github.com/goccy github.com/rivo github.com/santhosh-tekuri github.com/spf13 github.com/modelcontextprotocol \
	golang.org/x google.golang.org github.com/coder github.com/clipperhouse k8s.io \
	github.com/pierrec github.com/segmentio github.com/twpayne github.com/lucasb-eyer github.com/muesli \
	github.com/gomlx/gomlx/core/graph crypto/tls crypto/x509 encoding/gob \
	database go html math/big mime net text; do
	lean="$lean -gcflags=$library/...=-l"
done
for room in cmd internal/basemodel internal/chat internal/config internal/console internal/data internal/demo internal/doctor internal/env \
	internal/engine internal/episode internal/eval internal/grade internal/host internal/hub internal/jinja internal/job internal/llm \
	internal/mcp internal/proxy internal/recipe internal/run internal/serve internal/synth internal/text/render \
	internal/text/toolcall internal/toolset \
	internal/view; do
	lean="$lean -gcflags=hone/$room/...=-l"
done
go run ./scripts/pack internal/synth/written/files.br internal/synth/written words sql folders graphs
go build -tags packed -trimpath -buildvcs=true -ldflags='-s -w -buildid=' $lean -o dist/new/ ./cmd/hone ./benchmarks/cmd/hone-bench
size=$(wc -c <dist/new/hone)
if [ "$size" -gt "$limit" ]; then
	echo "the binary has $size bytes, more than $limit" >&2
	exit 1
fi
version=$(dist/new/hone version --plain | awk '{ sub(/^hone /, ""); print $1 }')
name=hone-$version-$(go env GOOS)-$(go env GOARCH)
mv dist/new "dist/$name"
cp README.md LICENSE CHANGELOG.md "dist/$name"
go run ./scripts/licences -texts >"dist/$name/THIRD_PARTY_LICENCES"
for library in react react-dom scheduler uplot; do # what the page is made of
	printf '\n%s\n\n' "$library" && cat "web/node_modules/$library/LICENSE"
done >>"dist/$name/THIRD_PARTY_LICENCES"
# What tar and gzip would write down of this machine and this moment is left out.
tar -C dist --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$(git log -1 --format=%ct)" \
	-cf - "$name" | gzip -9n >"dist/$name.tar.gz"
images=""
if [ "$(go env GOOS)" = linux ]; then
	images=$name.image.tar
	go run ./scripts/image -hone "dist/$name/hone" -licences "dist/$name/THIRD_PARTY_LICENCES" \
		-version "$(echo "$version" | tr + _)" -time "$(git log -1 --format=%ct)" "dist/$images"
fi
rm -r "dist/$name"
cd dist
sha256sum "$name.tar.gz" $images | tee SHA256SUMS
echo "binary: $size bytes; archives: $(wc -c "$name.tar.gz" $images | tr '\n' ';')"
