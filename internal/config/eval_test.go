package config

import "testing"

// A system is given up as Inspect's fail_on_error has it (inspect_ai, _should_eval_fail): at the share or the number
// itself.
func TestFailOnError(t *testing.T) {
	for _, row := range []struct {
		value           FailOnError
		failed, planned int
		want            bool
	}{
		{"true", 0, 9, false}, {"true", 1, 9, true}, {"false", 9, 9, false}, {"0.5", 4, 9, false}, {"0.5", 5, 10, true},
		{"0.5", 4, 10, false}, {"0.1", 1, 10, true}, {"1", 1, 9, true}, {"1", 0, 9, false}, {"5", 4, 9, false},
		{"5", 5, 9, true}, {"0.01", 0, 9, false},
	} {
		if got := row.value.Exceeds(row.failed, row.planned); got != row.want {
			t.Errorf("%s: %d of %d: %v", row.value, row.failed, row.planned, got)
		}
	}
	for text, ok := range map[string]bool{
		"true": true, "false": true, "0.2": true, "3": true, "0": false, "-1": false, "NaN": false, "Inf": false,
		"": false, "often": false,
	} {
		if err := FailOnError(text).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, line := range []string{"true", "0.25", "5", "\"false\""} {
		if c, err := Parse("f", []byte("eval: {fail_on_error: "+line+"}\n")); err != nil ||
			c.Eval.FailOnError.Check() != nil {
			t.Errorf("fail_on_error: %s: %q, %v", line, c.Eval.FailOnError, err)
		}
	}
}

// A provider is checked as other sections are, and its defaults are filled in.
func TestProviders(t *testing.T) {
	for text, ok := range map[string]bool{
		"local: {url: http://x/v1}": true, "local: {}": false, "a.b: {url: x}": false,
		"local: {url: x, episodes: -1}": false, "local: {url: x, key: y}": false,
		"local: {url: x, prices: {m: {prompt: -1}}}":                 false,
		"local: {url: x, prices: {m/n: {prompt: 1, completion: 2}}}": true,
		"local: {url: x, prices: {m: {input: 1}}}":                   false,
	} {
		if _, err := Parse("f", []byte("providers: {"+text+"}\n")); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	c, err := Parse("f", []byte("providers: {local: {url: http://x/v1}, openai: {url: http://mine/v1}}\n"))
	if all := c.AllProviders(); err != nil || all["local"].Episodes != EpisodesAtOnce ||
		all["openai"].URL != "http://mine/v1" || all["openrouter"].KeyEnv != "OPENROUTER_API_KEY" {
		t.Errorf("%v: %+v", err, all)
	}
	if got := (Price{Prompt: 2, Completion: 8}).Of(1_000_000, 500_000); got != 6 {
		t.Errorf("%g dollars", got)
	}
}
