package userprogram_test

import (
	"strings"
	"testing"

	"hone/internal/episode/userprogram"
)

var facts = userprogram.Facts{Terms: map[string]float64{"checks": 0.5, "end": 1, "parse": 0},
	Calls: []userprogram.Call{{"look", `{"name":"hat"}`, "ok"}, {"buy", `{"n":2}`, "tool_error"}}, Gold: 1, Turns: 3,
	Tokens: 250, Outcome: "ok", StopReason: "completed", Answer: "The hat costs 4.", Difficulty: "hard"}

// A formula sees each fact by its name.
func TestFormulasSeeTheFacts(t *testing.T) {
	for text, want := range map[string]float64{
		"turns > 9 ? terms.end : -1":    -1,
		"7":                             7,
		"terms.end":                     1,
		"terms.checks ?? 0":             0.5,
		"terms.judge ?? 0":              0,
		"terms.judge ?? 0.25":           0.25,
		"(terms.checks ?? 0) * 2 + 1":   2,
		"len(calls) - gold":             1,
		`count(calls, .status != "ok")`: 1,
		`fromJSON(calls[1].arguments).n == 2 ? 1 : 0`: 1,
		`any(calls, .name == "buy") ? 1 : 0`:          1,
		"-tokens / 1000":                              -0.25,
		"turns":                                       3,
		"min(1, tokens / 500)":                        0.5,
		`outcome == "ok" && stop_reason == "completed" ? 1 : 0`: 1,
		`answer contains "4" ? 0.5 : 0`:                         0.5,
		`difficulty == "hard" ? 8 : 2`:                          8,
	} {
		f, err := userprogram.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := f.Of(facts); err != nil || got != want {
			t.Errorf("%s is %v, want %v; %v", text, got, want, err)
		}
	}
}

// What cannot be a number for every episode is refused when it is read, and says why.
func TestFormulasThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "unexpected",
		"1 +":                           "unexpected token EOF, at column",
		"answer":                        "expected float64, but got string",
		"terms.end > 0":                 "expected float64, but got bool",
		"turns + answer":                "mismatched types",
		`(terms.judge ?? 0) + "a"`:      "mismatched types",
		"trns":                          "unknown name trns",
		"terms.chekcs ?? 0":             `there is no term "chekcs"`,
		"terms.checks * 2":              "not every episode has the term checks: write (terms.checks ?? 0)",
		"1 - terms.repeat":              "not every episode has the term repeat",
		"0 ?? terms.judge":              "not every episode has the term judge",
		"len(terms)":                    "by the name of a term",
		`terms[answer] ?? 0`:            "by the name of a term",
		"calls[0].nmae == \"\" ? 1 : 0": "has no field nmae",
		"now().Unix()":                  "unknown name now",
		`fromJSON(answer)`:              "but got interface {}",
		`len(keys(fromJSON(answer)))`:   "unknown name keys",
	} {
		_, err := userprogram.Compile(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// What is no finite number for an episode is an error, never 0.
func TestFormulasWithoutAValue(t *testing.T) {
	for text, want := range map[string]string{
		"0 / (turns - 3)":                     "is NaN, which is no finite number",
		"1 / (turns - 3)":                     "is +Inf, which is no finite number",
		"-1 / (turns - 3)":                    "is -Inf, which is no finite number",
		"turns % (turns - 3)":                 "divide by zero",
		`calls[7].name == "" ? 1 : 0`:         "out of range",
		`fromJSON(answer).n == 1 ? 1 : 0`:     "invalid character",
		`len(1..2000000 | map({1..1000000}))`: "memory budget",
	} {
		f, err := userprogram.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := f.Of(facts); err == nil || !strings.Contains(err.Error(), want) || got != 0 {
			t.Errorf("%s: %v, %v, want %q", text, got, err, want)
		}
	}
}
