package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSecretsOf(t *testing.T) {
	path := t.TempDir()
	s := Server{
		URL: "https://me:password-of-url@host/mcp?api_key=key-in-query&page=not-a-secret",
		Headers: map[string]string{"Authorization": "Bearer bearer-token", "X-Api-Key": "key-in-header",
			"X-Project": "not-a-secret"},
		Env: map[string]string{"API_KEY": "key-in-env", "DATABASE_URL": "postgres://u:password-of-db@h/d",
			"SSH_KEY": path, "TOKEN": "short", "MODE": "not-a-secret", "GIT_AUTHOR_NAME": "not-a-secret"},
		Args: []string{"--token=token-of-flag", "--api-key", "key-behind-flag", "--mode", "not-a-secret",
			"postgres://u:password-of-arg@h"},
		OAuth:   &OAuth{ClientSecret: "client-secret"},
		secrets: []string{"secret-of-variable"},
	}
	want := []string{
		"Bearer bearer-token", "bearer-token", "client-secret", "key-behind-flag", "key-in-env", "key-in-header",
		"key-in-query", "password-of-arg", "password-of-db", "password-of-url", "secret-of-variable", "token-of-flag",
	}
	if got := slices.Sorted(slices.Values(secretsOf(s))); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// What a server knows it can say anywhere: in results and lists, on stdout and stderr, in errors.
func TestSecretsDoNotComeBack(t *testing.T) {
	const secret = `open "sesame" now`
	s := self(t, "tools")
	s.Env = map[string]string{"API_KEY": secret}
	p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{MaxResult: 100000})
	r := ask(open(t, p, "e"), "env", "{}")
	if data, err := json.Marshal(r); err != nil || strings.Contains(string(data), "sesame") ||
		!strings.Contains(string(data), "API_KEY=[hidden]") {
		t.Errorf("the record holds %s (%v)", data, err)
	}

	s = self(t, "broken")
	s.Env = map[string]string{"DB_PASSWORD": "such database"}
	l, err := newOpener("s", s, configOf(t, nil).Base, Options{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.openFrom(context.Background(), start{}); err == nil ||
		!strings.Contains(err.Error(), "stderr: no [hidden]") {
		t.Errorf("stderr: %v", err)
	}
}

// A secret at the place where an excerpt is cut is hidden before the cut.
func TestSecretsOnStdout(t *testing.T) {
	w := newWire(10000, &meter{})
	w.redact = redactor([]string{"sesame-open-now"})
	for i := 140; i < 165; i++ {
		w.decode([]byte(strings.Repeat("x", i)+"sesame-open-now"), true)
		if _, sample := w.strays(); strings.Contains(sample, "ses") || strings.Contains(w.meter.read().Stray, "ses") {
			t.Fatalf("%s", sample)
		}
		w.sample, w.meter.stats.Stray = "", ""
	}
}

func TestTailCutsWholeLines(t *testing.T) {
	var kept tail
	fmt.Fprintf(&kept, "sesame-open-now%s\nlast words", strings.Repeat("x", stderrKept-20))
	if got := kept.String(); got != "stderr: last words" {
		t.Errorf("%.60q", got)
	}
}

func TestHideIn(t *testing.T) {
	redact := redactor([]string{"sesame-open", "12345678", `qu"ote`})
	for _, test := range []struct{ text, want string }{
		{`{"a" : 1.50, "b":"\u00e9"}`, `{"a" : 1.50, "b":"\u00e9"}`}, // untouched to the byte
		{`{"b":1.50,"a":"x \u0073esame-open y","sesame-open":null}`, `{"b":1.50,"a":"x [hidden] y","[hidden]":null}`},
		{`[12345678,"qu\"ote"]`, `["[hidden]","[hidden]"]`},
		{`sesame-open {`, `[hidden] {`},
	} {
		if got := string(hideIn(json.RawMessage(test.text), redact)); got != test.want {
			t.Errorf("%s became %s, want %s", test.text, got, test.want)
		}
	}
}
