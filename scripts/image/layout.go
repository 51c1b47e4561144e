package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
)

// file is an entry of an archive; a folder where its name ends in a slash.
type file struct {
	mode int64
	data []byte
}

// layer is files by name.
type layer map[string]file

// descriptor is how one blob of the layout names another (OCI image-spec 1.1).
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// config is the image's configuration.
type config struct {
	Created time.Time `json:"created"`
	platform
	Config struct {
		User       string            `json:"User"`
		Env        []string          `json:"Env"`
		Entrypoint []string          `json:"Entrypoint"`
		WorkingDir string            `json:"WorkingDir"`
		Labels     map[string]string `json:"Labels"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

const (
	ociImage = "application/vnd.oci.image."
	ociTitle = "org.opencontainers.image."
)

// layout is the files of an image's archive.
type layout struct{ files layer }

// write writes an image as a tar archive of its OCI layout, and returns the digest of its manifest.
func write(w io.Writer, layers []layer, version string, created time.Time) (digest string, err error) {
	l := layout{layer{"oci-layout": {0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)}}}
	c := config{Created: created, platform: platform{runtime.GOARCH, "linux"}}
	c.Config.User = fmt.Sprintf("%d:%d", user, user) // Kubernetes asks numbers whether it is root
	c.Config.Env = []string{"PATH=/usr/local/bin", "HOME=/" + path.Clean(home)}
	c.Config.Entrypoint = []string{"/usr/local/bin/hone"}
	c.Config.WorkingDir = "/" + path.Clean(home)
	c.Config.Labels = map[string]string{ociTitle + "title": "hone", ociTitle + "version": version}
	c.RootFS.Type = "layers"
	manifest := struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        descriptor   `json:"config"`
		Layers        []descriptor `json:"layers"`
	}{SchemaVersion: 2, MediaType: ociImage + "manifest.v1+json"}
	for _, files := range layers {
		plain, packed := &bytes.Buffer{}, &bytes.Buffer{}
		if err := archive(plain, files, created); err != nil {
			return "", err
		}
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, digestOf(plain.Bytes()))
		z, _ := gzip.NewWriterLevel(packed, gzip.BestCompression) // of a level that there is
		if _, err := z.Write(plain.Bytes()); err != nil {
			return "", err
		}
		if err := z.Close(); err != nil {
			return "", err
		}
		manifest.Layers = append(manifest.Layers, l.blob(ociImage+"layer.v1.tar+gzip", packed.Bytes()))
	}
	if manifest.Config, err = l.object(ociImage+"config.v1+json", c); err != nil {
		return "", err
	}
	image, err := l.object(manifest.MediaType, manifest)
	if err != nil {
		return "", err
	}
	image.Platform, image.Annotations = &c.platform, map[string]string{ociTitle + "ref.name": version}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": ociImage + "index.v1+json",
		"manifests": []descriptor{image}})
	if err != nil {
		return "", err
	}
	l.files["index.json"] = file{0o644, index}
	return image.Digest, archive(w, l.files, created)
}

// object adds a value as a blob of JSON.
func (l layout) object(mediaType string, value any) (descriptor, error) {
	data, err := json.Marshal(value)
	return l.blob(mediaType, data), err
}

func (l layout) blob(mediaType string, data []byte) descriptor {
	d := descriptor{MediaType: mediaType, Digest: digestOf(data), Size: len(data)}
	l.files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)] = file{0o644, data}
	return d
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// archive writes files in the order of their names, each folder before what it holds, all of one time. What lies in the
// user's home is the user's, all else is root's.
func archive(w io.Writer, files layer, at time.Time) error {
	all := maps.Clone(files)
	for name := range files {
		for dir := path.Dir(path.Clean(name)); dir != "."; dir = path.Dir(dir) {
			if _, is := all[dir+"/"]; !is {
				all[dir+"/"] = file{mode: 0o755}
			}
		}
	}
	t := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		h := &tar.Header{Name: name, Mode: f.mode, Size: int64(len(f.data)), ModTime: at, Typeflag: tar.TypeReg}
		if strings.HasSuffix(name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if strings.HasPrefix(name, home) {
			h.Uid, h.Gid = user, user
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}
