// Command licences lists what is linked into hone besides its own code, with the licence of each module, and fails on
// one that is not known to be permissive.
//
//	go run ./scripts/licences           # module, version, licences
//	go run ./scripts/licences -texts    # then every licence text: what a release must carry
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	texts := flag.Bool("texts", false, "write the licence texts after the list")
	flag.Parse()
	if err := run(os.Stdout, *texts); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, texts bool) error {
	modules, err := linkedModules("hone/cmd/hone")
	if err != nil {
		return err
	}
	var refused []string
	var all bytes.Buffer
	for _, m := range modules {
		files, err := licenceFiles(m.dir)
		if err != nil {
			return err
		}
		names, err := classify(m, files)
		if err != nil {
			refused = append(refused, fmt.Sprintf("%s %s: %v", m.path, m.version, err))
			continue
		}
		fmt.Fprintf(w, "%s %s: %s\n", m.path, m.version, strings.Join(names, ", "))
		for _, f := range files {
			fmt.Fprintf(&all, "\n%s\n%s %s, %s\n\n%s\n",
				strings.Repeat("=", 80), m.path, m.version, f.name, bytes.TrimSpace(f.text))
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("a release may hold permissive licences only; choose other modules:\n%s",
			strings.Join(refused, "\n"))
	}
	if texts {
		_, err = w.Write(all.Bytes())
	}
	return err
}

type module struct{ path, version, dir string }

// linkedModules returns the modules, other than this one, of which a package is built into a command, sorted, and Go
// itself.
func linkedModules(command string) ([]module, error) {
	const format = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}"
	lines, err := goOutput("list", "-deps", "-f", format, command)
	if err != nil {
		return nil, err
	}
	slices.Sort(lines)
	var out []module
	for _, line := range slices.Compact(lines) {
		if f := strings.Split(line, "\t"); len(f) == 3 {
			out = append(out, module{f[0], f[1], f[2]})
		}
	}
	goroot, err := goOutput("env", "GOVERSION", "GOROOT")
	if err != nil {
		return nil, err
	}
	return append(out, module{"Go", goroot[0], goroot[1]}), nil
}

func goOutput(args ...string) (lines []string, err error) {
	c := exec.Command("go", args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}

type file struct {
	name string
	text []byte
}

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|attrib|unlicense)`)

// licenceFiles reads what lies at the top of a module. Code copied in from elsewhere carries its licence in a file
// beside the module's own (LICENSE-3RD-PARTY.md), which is read too.
func licenceFiles(dir string) ([]file, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []file
	for _, e := range entries {
		if e.IsDir() || !licenceName.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, file{e.Name(), text})
	}
	return out, nil
}

// permissive are the licences that ask for no more than notices: SPDX identifier, and what every copy of the text says.
var permissive = []struct{ spdx, says string }{
	{"Apache-2.0", `apache license,? version 2\.0`},
	{"BSD-3-Clause", `redistribution and use in source and binary forms.*(neither the name|endorse or promote)`},
	{"BSD-2-Clause", `redistribution and use in source and binary forms`},
	{"ISC", `permission to use, copy, modify,? and(/or)? distribute this software`},
	{"MIT", `permission is hereby granted, free of charge, to any person obtaining`},
	{"Unlicense", `this is free and unencumbered software released into the public domain`},
}

// forbidden are copyleft and the like: their titles, as they stand in the licences themselves and where a file names
// its licence.
var forbidden = regexp.MustCompile(
	`gnu (lesser |library |affero )?general public license|mozilla public license|eclipse public license|` +
		`common development and distribution license|european union public licen[cs]e|server side public license|business source license|` +
		`elastic license|attribution-(sharealike|noncommercial)|spdx-license-identifier: *(a|l)?gpl`,
)

// excused are files, "module version file", that were read by a person because they name such a licence of something
// which is not linked. The version is in it, so that the next one is read too.
var excused = []string{
	// Its section 3 lists its module graph, of which hashicorp/golang-lru (MPL-2.0) is compiled into nothing; were it
	// linked, it would be a module of its own in the list here, and refused.
	"modernc.org/sqlite v1.61.1 LICENSE-3RD-PARTY.md",
}

// classify returns the SPDX identifiers of a module's licence files. A copyleft title in any of them is an error, as is
// a module without a permissive licence.
func classify(m module, files []file) ([]string, error) {
	var names []string
	for _, f := range files {
		text := strings.Join(strings.Fields(strings.ToLower(string(f.text))), " ")
		if found := forbidden.FindString(text); found != "" &&
			!slices.Contains(excused, m.path+" "+m.version+" "+f.name) {
			return nil, fmt.Errorf("%s says %q", f.name, found)
		}
		for _, l := range permissive {
			if l.spdx == "BSD-2-Clause" && slices.Contains(names, "BSD-3-Clause") {
				continue
			}
			if regexp.MustCompile(l.says).MatchString(text) && !slices.Contains(names, l.spdx) {
				names = append(names, l.spdx)
			}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no licence found that is known to be permissive, in %d files", len(files))
	}
	return names, nil
}
