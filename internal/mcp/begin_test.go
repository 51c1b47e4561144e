package mcp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
)

// A scenario's template stands in for the server's own, for its episode alone, also where processes stand ready.
func TestTemplateOfAnEpisode(t *testing.T) {
	own, other := t.TempDir(), t.TempDir()
	os.WriteFile(filepath.Join(own, "note"), []byte("the server's"), 0o600)
	os.WriteFile(filepath.Join(other, "note"), []byte("the scenario's"), 0o600)
	for _, told := range []bool{true, false} {
		s := self(t, "tools", EpisodeDir)
		s.Template = own
		o := Options{Warm: 2}
		if told {
			o.Folder = t.TempDir() // the path is the episode's, and no process stands ready
		}
		p := newPool(t, configOf(t, map[string]Server{"s": s}), o)
		for i, test := range []struct {
			templates []environment.Template
			want      string
		}{
			{nil, "the server's"},
			{[]environment.Template{{Folder: other}}, "the scenario's"},
			{[]environment.Template{{Server: "s", Folder: other}}, "the scenario's"},
			{nil, "the server's"},
		} {
			opened, err := p.Open(context.Background(), "e", test.templates...)
			if err != nil {
				t.Fatal(err)
			}
			if got := ask(opened, "read", "{}").Text; got != test.want {
				t.Errorf("told %v, episode %d reads %q, want %q", told, i, got, test.want)
			}
			opened.Close()
		}
	}
}

func TestTemplateRefused(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	os.WriteFile(file, nil, 0o600)
	shared := self(t, "tools")
	shared.Isolation = Shared
	p := newPool(t, configOf(t,
		map[string]Server{"a": self(t, "tools", EpisodeDir), "b": self(t, "tools"), "c": shared}), Options{Warm: -1})
	if own, templates := p.Folders(); strings.Join(own, " ") != "a b" || strings.Join(templates, " ") != "a b" {
		t.Errorf("own folders %v, templates %v", own, templates)
	}
	for _, test := range []struct {
		template environment.Template
		want     string
	}{
		{environment.Template{Folder: folder}, "these could be meant: a, b"},
		{environment.Template{Server: "c", Folder: folder}, `server "c" is none of those that can have one: a, b`},
		{environment.Template{Server: "a", Folder: file}, "is not a folder"},
		{environment.Template{Server: "a", Folder: folder + "/none"}, "no such file"},
	} {
		_, err := p.Open(context.Background(), "e", test.template)
		var f *Failure
		if !errors.As(err, &f) || f.Blame() != trajectory.InfrastructureError ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v; want %q", test.template, err, test.want)
		}
	}
	e := open(t, p, "e")
	if e.Dir("") != "" || e.Dir("c") != "" || e.Dir("a") == "" || e.Dir("a") == e.Dir("b") {
		t.Errorf("folders %q, %q, %q, %q", e.Dir(""), e.Dir("a"), e.Dir("b"), e.Dir("c"))
	}
}

// What a check sees is not cut to what a model is shown.
func TestProbe(t *testing.T) {
	s := self(t, "tools", EpisodeDir)
	e := open(t, newPool(t, configOf(t, map[string]Server{"s": s}), Options{MaxResult: 100, MaxRecord: 1000}), "e")
	long := strings.Repeat("x", 500)
	if r := ask(e, "write", `{"Text":"`+long+`"}`); r.Status != trajectory.CallOK {
		t.Fatalf("%+v", r)
	}
	if r := ask(e, "read", "{}"); len(r.Text) > 100 {
		t.Errorf("the model is shown %d bytes", len(r.Text))
	}
	if r := e.Probe(context.Background(), chat.ToolCall{ID: "1", Name: "read", Arguments: "{}"}); r.Text != long ||
		r.Call.Name != "read" {
		t.Errorf("a probe sees %q", r.Text)
	}
}

// Keep has so many sessions ready, and more where fewer were kept before.
func TestKeep(t *testing.T) {
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "tools")}), Options{})
	ready := func(want int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); p.Stats()[0].Sessions < want && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond) // none more
		if got := p.Stats()[0].Sessions; got != want {
			t.Errorf("%d sessions were opened, want %d", got, want)
		}
	}
	before := p.Stats()[0].Sessions
	ready(max(before, 1))
	p.Keep(3)
	ready(3)
	p.Keep(2) // no fewer
	ready(3)
}
