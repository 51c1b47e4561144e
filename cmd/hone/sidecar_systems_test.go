//go:build !race

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
	"hone/internal/learn/sample"
)

// Sidecars and upstreams that are asked one after the other share one model and one sampler, which holds the adapter of
// who is asked: of this process, and of a server.
func TestSidecarEvalTurnsToEachAdapter(t *testing.T) {
	workFolder(t, map[string]string{"hone.yaml": toyConfig})
	toyModel(t, "toy.gguf")
	revisions(t)
	for i, out := range []string{"one", "two"} {
		if code, _, said := hone(t, "", "sidecar", "train", "--data", "revisions", "--method", "sft", "--output-dir",
			out, "--base-model", "toy.gguf", "--seed", fmt.Sprint(i)); code != 0 {
			t.Fatalf("exit code %d, %s", code, said)
		}
	}
	command := strings.Fields("sidecar eval --data revisions --split train --model one/final,two/final --alone " +
		"--hints x=one/final")
	code, table, said := hone(t, "", append(command, "--plain")...)
	if code != 0 || strings.Count(said, "model toy.gguf on") != 1 {
		t.Errorf("exit code %d, want one model that is opened: %s", code, said)
	}
	for _, system := range []string{"one", "one_alone", "two", "two_alone", "hints"} {
		if !strings.Contains(table, "\n"+system+"\t4\t") {
			t.Errorf("%s is not measured on 4 rows: %s", system, table)
		}
	}

	s := sampler(t, "toy.gguf")
	write(t, "hone.yaml", toyConfig+"sampler: {url: \""+s.url+"\", key_env: SERVE_KEY}\n")
	if code := toyApp(t.Output(), map[string]string{"SERVE_KEY": "sesame"}).main(t.Context(), command); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	loads := s.to("/load_lora_adapter")
	var names []string
	for _, x := range loads {
		names = append(names, x["lora_name"].(string))
	}
	var asked []string // in order, each run of one name once
	times := map[string]int{}
	for _, q := range s.to("/completions")[1:] {
		name := q["model"].(string)
		if times[name]++; len(asked) == 0 || asked[len(asked)-1] != name {
			asked = append(asked, name)
		}
	}
	// each time that it is handed over one for its text, which hone serve refuses, and sixteen for its fingerprint
	if len(names) != 3 || !slices.Equal(asked, names) || names[0] != names[2] || times[names[0]] != 11+2*17 ||
		times[names[1]] != 8+17 {
		t.Errorf("loaded %q, asked of %q, %v: want the first, the second, and the first again for its hints",
			names, asked, times)
	}

	otherModel(t, "toy.gguf", "other.gguf")
	write(t, "hone.yaml", toyConfig+"sampler: {url: \""+sampler(t, "other.gguf").url+"\", key_env: SERVE_KEY}\n")
	var talk bytes.Buffer
	if code := toyApp(&talk,
		map[string]string{"SERVE_KEY": "sesame"}).main(t.Context(), command); code != int(fault.CodeError) ||
		!strings.Contains(talk.String(), "the server does not hold the policy that was trained") {
		t.Errorf("another base model: exit code %d, %s", code, &talk)
	}
}

// A model is opened anew for another base model and for an adapter of another shape; and its slots have room for the
// drafts, which are asked about with it.
func TestSidecarEvalOpensWhatDiffers(t *testing.T) {
	workFolder(t, map[string]string{"hone.yaml": toyConfig + "model: {base: toy.gguf}\n"})
	toyModel(t, "toy.gguf")
	otherModel(t, "toy.gguf", "other.gguf")
	revisions(t)
	toyAdapter(t, "toy.gguf", "shaped")
	toyAdapter(t, "other.gguf", "others")
	long := strings.Repeat("It is 5. ", 60)
	write(t, "revisions/rows.jsonl", strings.Replace(contents(t, "revisions/rows.jsonl"), "It is 5.", long, 1))
	var talk bytes.Buffer
	var rooms []int
	a := toyApp(&talk, nil)
	a.Opening = func(x any) {
		if o, ok := x.(sample.Options); ok {
			rooms = append(rooms, len(o.Prefix)+o.Context)
		}
	}
	code := a.main(t.Context(),
		strings.Fields("sidecar eval --data revisions --split train --model base,shaped,others"))
	said := talk.String()
	if code != 0 || strings.Count(said, "model toy.gguf on") != 2 || strings.Count(said, "model other.gguf on") != 1 {
		t.Errorf("exit code %d, want one model for each: %s", code, said)
	}
	if len(rooms) != 3 || rooms[0] < len(long) { // a token of the toy is a byte
		t.Errorf("slots have room for %d tokens, and a draft has %d", rooms, len(long))
	}
}
