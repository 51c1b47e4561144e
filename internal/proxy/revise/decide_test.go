package revise

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"hone/internal/chat"
)

// saying is a sidecar that says one thing after a while.
type saying struct {
	said  Said
	err   error
	after time.Duration
	asked *atomic.Int32
}

func (s saying) Revise(ctx context.Context, _ Question) (Said, error) {
	if s.asked != nil {
		s.asked.Add(1)
	}
	select {
	case <-time.After(s.after):
	case <-ctx.Done():
	}
	return s.said, s.err
}

func sure(name, arguments string, p float64) Said {
	return Said{Message: call(name, arguments), Whole: true, Probability: p, PromptTokens: 9, CompletionTokens: 5}
}

func TestDecide(t *testing.T) {
	right := `{"city":"Rome"}`
	bad := call("get_weather", `{"days":1}`) // no city
	for name, c := range map[string]struct {
		draft   chat.Message
		sidecar Sidecar
		verdict Verdict
		args    string // of the first call
		why     string
		asked   int
	}{
		"no sidecar":       {call("get_weather", right), Sidecar{}, Untouched, right, "no sidecar", 0},
		"the fixer alone":  {call("getWeather", right), Sidecar{}, Mended, right, "tool_name get_weather", 0},
		"the fixer cannot": {bad, Sidecar{}, Original, `{"days":1}`, "missing property 'city'", 0},
		"valid, it says the same": {
			call("get_weather", right), Sidecar{Reviser: saying{said: sure("get_weather", ` {"city": "Rome"}`, 1)}},
			Untouched, right, "the same", 1,
		},
		"valid, it is not sure": {
			call("get_weather", right), Sidecar{Rule: Rule{Confidence: 0.9},
				Reviser: saying{said: sure("get_weather", `{"city":"Oslo"}`, 0.8)}}, Untouched, right,
			"0.800, of 0.900", 1,
		},
		"valid, it is sure": {
			call("get_weather", right), Sidecar{Rule: Rule{Confidence: 0.9},
				Reviser: saying{said: sure("get_weather", `{"city":"Oslo"}`, 0.95)}}, Revised,
			`{"city":"Oslo"}`, "0.950", 1,
		},
		"valid, it may not": {
			call("get_weather", right), Sidecar{Rule: Rule{Confidence: 1},
				Reviser: saying{said: sure("get_weather", `{"city":"Oslo"}`, 1)}}, Untouched, right, "may not", 0,
		},
		"mended, it is not sure": {
			call("getWeather", right), Sidecar{Rule: Rule{Confidence: 0.9},
				Reviser: saying{said: sure("hash", `{"text":"a"}`, 0.5)}}, Mended, right, "not sure", 1,
		},
		"invalid, it revises": {
			bad, Sidecar{Rule: Rule{Confidence: 0.9}, Reviser: saying{said: sure("get_weather", right, 0.1)}}, Revised,
			right, "the draft: missing", 1,
		},
		"its answer is fixed too": {bad, Sidecar{Reviser: saying{said: sure("getWeather", `{'city':'Rome'}`, 1)}}, Revised, `{"city":"Rome"}`, "", 1},
		"its answer is no better": {bad, Sidecar{Reviser: saying{said: sure("get_weather", `{"days":2}`, 1)}}, Original,
			`{"days":1}`, "revision is not valid", 1},
		"its answer is cut": {
			bad, Sidecar{Reviser: saying{said: Said{Message: call("get_weather", right), Probability: 1}}}, Original,
			`{"days":1}`, "cut off", 1,
		},
		"it makes no call": {bad, Sidecar{Reviser: saying{said: Said{Whole: true, Probability: 1}}}, Original, `{"days":1}`, "no call", 1},
		"it fails":         {bad, Sidecar{Reviser: saying{err: errors.New("no device")}}, Original, `{"days":1}`, "no device", 1},
		"it is late": {
			bad, Sidecar{Rule: Rule{Deadline: time.Second},
				Reviser: saying{said: sure("get_weather", right, 1), after: time.Minute}}, Original, `{"days":1}`,
			"longer than 1s", 1,
		},
		"it is in time": {
			bad, Sidecar{Rule: Rule{Deadline: time.Second},
				Reviser: saying{said: sure("get_weather", right, 1), after: time.Millisecond}}, Revised, right, "", 1,
		},
		"a plain answer": {
			chat.Message{Content: "It is warm."}, Sidecar{Rule: Rule{NoCall: 1},
				Reviser: saying{said: sure("get_weather", right, 1)}}, Untouched, "", "plain", 0,
		},
		"plain, it is not sure": {
			chat.Message{Content: "It is warm."}, Sidecar{Rule: Rule{NoCall: 0.6},
				Reviser: saying{said: sure("get_weather", right, 0.5)}}, Untouched, "", "0.500, of 0.600", 1,
		},
		"plain, no call is due": {
			chat.Message{Content: "It is warm."},
			Sidecar{Reviser: saying{said: Said{Message: chat.Message{Content: Nothing}, Whole: true, Probability: 1}}},
			Untouched, "", "no call", 1,
		},
		"plain, calls may not": {
			chat.Message{Content: "It is warm."}, Sidecar{Rule: Rule{Confidence: 1, NoCall: 0.6},
				Reviser: saying{said: sure("get_weather", right, 0.7)}}, Revised, right, "", 1,
		},
		"plain, it is sure": {
			chat.Message{Content: "It is warm."}, Sidecar{Rule: Rule{Confidence: 0.9, NoCall: 0.6},
				Reviser: saying{said: sure("get_weather", right, 0.7)}}, Revised, right, "", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				if r, ok := c.sidecar.Reviser.(saying); ok {
					r.asked = &asked
					c.sidecar.Reviser = r
				}
				began := time.Now()
				d := c.sidecar.Decide(t.Context(), []chat.Message{{Role: chat.User, Content: "go"}},
					toolsForTest(), c.draft, 0)
				if d.Verdict != c.verdict || !strings.Contains(d.Why, c.why) || int(asked.Load()) != c.asked {
					t.Fatalf("%s: %s (asked %d)", d.Verdict, d.Why, asked.Load())
				}
				if limit := c.sidecar.Deadline; limit > 0 && time.Since(began) > limit {
					t.Errorf("it took %s", time.Since(began))
				}
				args := ""
				if len(d.Message.ToolCalls) > 0 {
					args = d.Message.ToolCalls[0].Arguments
				}
				if args != c.args {
					t.Errorf("arguments %s, want %s", args, c.args)
				}
				if (c.verdict == Untouched || c.verdict == Original) && !reflect.DeepEqual(d.Message, c.draft) {
					t.Errorf("touched: %+v", d.Message)
				}
				if c.verdict == Revised && len(c.draft.ToolCalls) > 0 && d.Message.ToolCalls[0].ID != "x1" {
					t.Errorf("id %q", d.Message.ToolCalls[0].ID)
				}
			})
		})
	}
}

// What is decided stands in a header and in the log, in words, and neither can be broken by what the upstream wrote.
func TestDecisionIsExplained(t *testing.T) {
	d := Sidecar{}.Decide(t.Context(), nil, toolsForTest(), call("get_weather\r\nX-Evil: ü", `{"city":"Rome"}`), 0)
	if h := d.Header(); !strings.HasPrefix(h, "original; ") || strings.ContainsAny(h, "\r\nü") ||
		!strings.Contains(h, "there is no tool") {
		t.Errorf("header %q", h)
	}
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("sidecar", "decision", d)
	for _, want := range []string{"decision.verdict=original", "decision.why=", "decision.seconds="} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in %s", want, b.String())
		}
	}
}

// Whatever the sidecar says, a draft without a fault is replaced only where it is confident, and by valid calls only.
func TestDecisionProperties(t *testing.T) {
	f := NewFixer(toolsForTest())
	rapid.Check(t, func(t *rapid.T) {
		draft, said := anyMessage(t), Said{Message: anyMessage(t), Whole: true,
			Probability: rapid.Float64Range(0, 1).Draw(t, "probability")}
		s := Sidecar{Rule: Rule{Confidence: rapid.Float64Range(0, 1).Draw(t, "confidence"),
			NoCall: rapid.Float64Range(0, 1).Draw(t, "no call")}}
		d := s.Weigh(f, draft, &said)
		fixed := f.Fix(draft)
		least := s.Confidence
		if fixed.IsPlain() {
			least = s.NoCall
		}
		switch {
		case d.Verdict == Revised && (len(f.Problems(d.Message)) > 0 || len(d.Message.ToolCalls) == 0):
			t.Fatalf("revised to %+v", d.Message)
		case d.Verdict == Revised && fixed.Valid() && said.Probability < least:
			t.Fatalf("revised at %g of %g", said.Probability, least)
		case (d.Verdict == Untouched || d.Verdict == Original) && !reflect.DeepEqual(d.Message, draft):
			t.Fatalf("touched: %+v", d.Message)
		case d.Why == "":
			t.Fatal("no reason")
		}
	})
}
