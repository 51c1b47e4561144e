package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestEverythingLinkedIsPermissive(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, true); err != nil {
		t.Fatal(err)
	}
	list, texts, _ := strings.Cut(out.String(), strings.Repeat("=", 80))
	if n := strings.Count(list, "\n"); n < 20 {
		t.Errorf("only %d modules are listed:\n%s", n, list)
	}
	for _, want := range []string{"github.com/gomlx/gomlx v", "modernc.org/sqlite v", "Go go1."} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	for _, want := range []string{"Apache License", "LICENSE-3RD-PARTY.md", "Copyright 2009 The Go Authors"} {
		if !strings.Contains(texts, want) {
			t.Errorf("the texts lack %q", want)
		}
	}
}

func TestClassify(t *testing.T) {
	const (
		mit  = "Permission is hereby granted,\nfree of charge, to any person\nobtaining a copy"
		bsd2 = "Redistribution and use in source and binary forms, with or without"
		bsd3 = bsd2 + " modification: Neither the name of Google"
	)
	for _, tc := range []struct {
		name  string
		files []file
		want  string // "error: " and a part of the error where it must fail
	}{
		{"mit", []file{{"LICENSE", []byte(mit)}}, "MIT"},
		{"bsd2", []file{{"LICENSE", []byte(bsd2)}}, "BSD-2-Clause"},
		{"bsd3", []file{{"LICENSE", []byte(bsd3)}}, "BSD-3-Clause"},
		{"two", []file{{"LICENSE", []byte("Apache License\n   Version 2.0, January 2004")}, {"NOTICE", []byte(mit)}}, "Apache-2.0, MIT"},
		{"none", nil, "error: in 0 files"},
		{"unknown", []file{{"LICENSE", []byte("All rights reserved.")}}, "error: in 1 files"},
		{"gpl", []file{{"COPYING", []byte("GNU GENERAL PUBLIC\n LICENSE Version 3")}}, "error: gnu general public license"},
		{"lgpl", []file{{"LICENSE", []byte("GNU Lesser General Public License")}}, "error: gnu lesser"},
		{"mpl", []file{{"LICENSE", []byte("Mozilla Public License, version 2.0")}}, "error: mozilla"},
		{
			"copied in", []file{{"LICENSE", []byte(mit)},
				{"LICENSE-3RD-PARTY.md", []byte("SPDX-License-Identifier: AGPL-3.0")}},
			"error: LICENSE-3RD-PARTY.md says",
		},
		{
			"excused in another version", []file{{"LICENSE", []byte(mit)},
				{"LICENSE-3RD-PARTY.md", []byte("Mozilla Public License")}}, "error: LICENSE-3RD-PARTY.md says",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			names, err := classify(module{path: "modernc.org/sqlite", version: "v9.0.0"}, tc.files)
			got := strings.Join(names, ", ")
			if err != nil {
				got = "error: " + err.Error()
			}
			if part, fails := strings.CutPrefix(tc.want, "error: "); got != tc.want &&
				!(fails && err != nil && strings.Contains(got, part)) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
