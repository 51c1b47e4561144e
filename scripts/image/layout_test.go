package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"
	"time"
)

// entry is what an archive says of a file.
type entry struct {
	mode int64
	uid  int
	text string
}

func entriesOf(t *testing.T, r io.Reader) (names []string, entries map[string]entry) {
	t.Helper()
	entries = map[string]entry{}
	a := tar.NewReader(r)
	for {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return names, entries
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(a)
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 1000 {
			t.Errorf("%s is of %v, want the image's time", h.Name, h.ModTime)
		}
		names, entries[h.Name] = append(names, h.Name), entry{h.Mode, h.Uid, string(text)}
	}
}

func image(t *testing.T, layers ...layer) (string, []byte) {
	t.Helper()
	var out bytes.Buffer
	digest, err := write(&out, layers, "v1", time.Unix(1000, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}
	return digest, out.Bytes()
}

func TestSameFilesGiveTheSameImage(t *testing.T) {
	files := layer{}
	for _, name := range []string{"a/1", "a/2", "b/c/3", "d", "tmp/"} {
		files[name] = file{0o644, []byte(name)}
	}
	files["tmp/"] = file{mode: 0o1777}
	digest, first := image(t, files)
	if again, second := image(t, maps.Clone(files)); again != digest || !bytes.Equal(first, second) {
		t.Errorf("the second image is %s, the first %s", again, digest)
	}
	changed := maps.Clone(files)
	changed["d"] = file{0o644, []byte("e")}
	if other, _ := image(t, changed); other == digest {
		t.Error("an image with another file has the same digest")
	}
}

func TestLayoutNamesWhatItHolds(t *testing.T) {
	digest, data := image(t, layer{"bin/x": {0o755, []byte("program")}, home: {mode: 0o755}, "tmp/": {mode: 0o1777}},
		layer{"y": {0o644, nil}})
	_, blobs := entriesOf(t, bytes.NewReader(data))
	get := func(d descriptor, into any) string {
		t.Helper()
		text := blobs["blobs/sha256/"+d.Digest[len("sha256:"):]].text
		if len(text) != d.Size || digestOf([]byte(text)) != d.Digest {
			t.Fatalf("%s has %d bytes of digest %s, want %d", d.Digest, len(text), digestOf([]byte(text)), d.Size)
		}
		if into != nil {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		return text
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal([]byte(blobs["index.json"].text), &index); err != nil {
		t.Fatal(err)
	}
	if len(index.Manifests) != 1 || index.Manifests[0].Digest != digest {
		t.Fatalf("the index has %v, want %s", index.Manifests, digest)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	get(index.Manifests[0], &manifest)
	var c config
	get(manifest.Config, &c)
	if c.Config.User != "65532:65532" || len(manifest.Layers) != 2 || len(c.RootFS.DiffIDs) != 2 {
		t.Fatalf("configuration %+v of %d layers", c, len(manifest.Layers))
	}
	z, err := gzip.NewReader(bytes.NewReader([]byte(get(manifest.Layers[0], nil))))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if got := digestOf(plain); got != c.RootFS.DiffIDs[0] {
		t.Errorf("the layer unpacks to %s, the configuration says %s", got, c.RootFS.DiffIDs[0])
	}
	names, entries := entriesOf(t, bytes.NewReader(plain))
	if want := []string{"bin/", "bin/x", "home/", home, "tmp/"}; !slices.Equal(names, want) {
		t.Errorf("the layer holds %q, want %q", names, want)
	}
	for name, want := range map[string]entry{"bin/x": {0o755, 0, "program"}, home: {0o755, user, ""},
		"tmp/": {0o1777, 0, ""}} {
		if entries[name] != want {
			t.Errorf("%s is %+v, want %+v", name, entries[name], want)
		}
	}
}
