// Command image writes a container image of hone as one tar archive in the OCI's layout, without a daemon and without a
// base to fetch. The image holds the program, the C and C++ libraries that it and its plug-ins load, certificates, a
// user, and the licences of all these; it has no shell. The same files give the same bytes.
//
//	go run ./scripts/image -hone FILE -licences FILE -version v1.2.3 -time SECONDS image.tar
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

const (
	user = 65532 // who the program runs as: "nonroot", as distroless images number it
	home = "home/nonroot/"
)

func main() {
	program := flag.String("hone", "", "the program")
	licences := flag.String("licences", "", "licences of what is linked into it")
	version := flag.String("version", "", "what the image is tagged as")
	created := flag.Int64("time", 0, "when it was made, in seconds since 1970: the commit's time")
	flag.Parse()
	if err := run(*program, *licences, *version, time.Unix(*created, 0).UTC(), flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(program, licences, version string, created time.Time, to string) error {
	system, err := systemFiles(program)
	if err != nil {
		return err
	}
	own, err := read(map[string]string{program: "usr/local/bin/hone", "LICENSE": "usr/share/doc/hone/LICENSE",
		licences: "usr/share/doc/hone/THIRD_PARTY_LICENCES"})
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	digest, err := write(out, []layer{system, own}, version, created)
	if err != nil {
		return err
	}
	fmt.Println("image:", digest)
	return out.Close()
}

// systemFiles are what the program needs of the machine that it was built on: its loader and libraries, at the paths
// that it names, what plug-ins load beside them, and certificates.
func systemFiles(program string) (layer, error) {
	list, err := exec.Command("ldd", program).Output()
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w", program, err)
	}
	loader := regexp.MustCompile(`(?m)^\s*(/\S+)`).FindSubmatch(list)
	libc := regexp.MustCompile(`libc\.so\.6 => (/\S+)`).FindSubmatch(list)
	if loader == nil || libc == nil {
		return nil, fmt.Errorf("ldd names no loader or no C library of %s:\n%s", program, list)
	}
	paths := []string{string(loader[1]), "/etc/ssl/certs/ca-certificates.crt"}
	for _, name := range []string{"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
		"libresolv.so.2", "libgcc_s.so.1", "libstdc++.so.6"} {
		paths = append(paths, filepath.Join(filepath.Dir(string(libc[1])), name))
	}
	for _, debian := range []string{"libc6", "libgcc-s1", "libstdc++6", "ca-certificates"} {
		paths = append(paths, "/usr/share/doc/"+debian+"/copyright")
	}
	names := map[string]string{}
	for _, path := range paths {
		names[path] = path[1:]
	}
	files, err := read(names)
	if err != nil {
		return nil, err
	}
	files["etc/passwd"] = file{0o644, fmt.Appendf(nil,
		"root:x:0:0:root:/root:/none\nnonroot:x:%d:%d:nonroot:/%s:/none\n", user, user, home)}
	files["etc/group"] = file{0o644, fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", user)}
	files["etc/ld.so.conf"] = file{0o644, fmt.Appendln(nil, filepath.Dir(string(libc[1])))} // read to find plug-ins
	files["etc/nsswitch.conf"] = file{0o644, []byte("hosts: files dns\n")}
	files[home] = file{mode: 0o755}
	files["tmp/"] = file{mode: 0o1777}
	return files, nil
}

// read makes a layer of files here, by their names there.
func read(names map[string]string) (layer, error) {
	files := layer{}
	for path, name := range names {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		mode := int64(0o644)
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o100 != 0 {
			mode = 0o755
		}
		files[name] = file{mode, data}
	}
	return files, nil
}
