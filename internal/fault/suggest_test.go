package fault

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	for _, tc := range []struct {
		written string
		names   []string
		want    string
	}{
		{"tsk", []string{"id", "task", "tags"}, "task"},
		{"Tsk", []string{"id", "task"}, "task"},
		{"jsno", []string{"judge-model", "json"}, "json"},
		{"output", []string{"out", "output-dir"}, "output-dir"}, // the end left off, before three edits
		{"se", []string{"seed"}, ""},
		{"zzz", []string{"seed", "json"}, ""},
		{"solution", []string{"id", "task", "gold"}, ""},
		{"x", []string{"y"}, ""}, // every letter would change
		{"", []string{"a"}, ""},
		{"ab", []string{"ac", "ad"}, "ac"},
	} {
		if got := Nearest(tc.written, tc.names); got != tc.want {
			t.Errorf("Nearest(%q, %q) = %q, want %q", tc.written, tc.names, got, tc.want)
		}
	}
}

// Of four letters one may differ, of more two; letters may have changed places.
func TestVerb(t *testing.T) {
	names := []string{"dpo", "eval", "runs", "serve", "servers", "sft", "train"}
	for written, want := range map[string]string{
		"serv": "serve", "foo": "", "bar": "", "trian": "train", "sf": "sft", "evla": "eval", "server": "serve",
		"rusn": "runs", "make": "", "tune": "",
	} {
		if got := NearestVerb(written, names); got != want {
			t.Errorf("Verb(%q) = %q, want %q", written, got, want)
		}
	}
}

// What other trainers call a key is known where hone's name for it is there.
func TestAlias(t *testing.T) {
	for _, tc := range []struct {
		written string
		names   []string
		want    string
	}{
		{"lr", []string{"epochs", "learning_rate"}, "learning_rate"},
		{"LR", []string{"learning-rate"}, "learning-rate"},
		{"lora-r", []string{"seed", "lora-rank"}, "lora-rank"},
		{"per_device_train_batch_size", []string{"batch_size"}, "batch_size"},
		{"per_device_train_batch_size", []string{"micro_batch"}, "micro_batch"},
		{"temp", []string{"template", "temperature"}, "temperature"},
		{"lr", []string{"seed"}, ""},
		{"learning_rate", []string{"learning_rate"}, ""}, // that is its own name
	} {
		if got := Alias(tc.written, tc.names); got != tc.want {
			t.Errorf("Alias(%q, %q) = %q, want %q", tc.written, tc.names, got, tc.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"abc", "acb", 2}, {"abc", "abc", 0}} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// A distance is a metric.
func TestDistanceProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{0,6}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		if (distance(a, b) == 0) != (a == b) || distance(a, b) != distance(b, a) ||
			distance(a, c) > distance(a, b)+distance(b, c) {
			t.Fatalf("%q %q %q: %d %d %d", a, b, c, distance(a, b), distance(b, c), distance(a, c))
		}
	})
}
