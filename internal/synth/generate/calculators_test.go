package generate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // no zones of the machine

	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// reckonTools compute, by other names than the tools of real servers have.
func reckonTools(s *shop) []Tool {
	s.tools = map[string]func(*stock, map[string]any) (string, error){}
	var list []Tool
	for name, do := range map[string]func(x, y float64) float64{
		"plus": func(x, y float64) float64 { return x + y }, "take_away": func(x, y float64) float64 { return x - y },
		"product": func(x, y float64) float64 { return x * y }, "quotient": func(x, y float64) float64 { return x / y },
		"leftover": math.Mod,
	} {
		list = append(list, tool(name, "Computes.",
			`{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"]}`))
		s.tools[name] = func(_ *stock, args map[string]any) (string, error) {
			return asJSON(map[string]float64{"value": do(args["x"].(float64), args["y"].(float64))})
		}
	}
	s.tools["root_of"] = func(_ *stock, args map[string]any) (string, error) {
		return "The root is " + programs.Digits(math.Sqrt(args["n"].(float64))), nil
	}
	s.tools["elsewhere"] = func(_ *stock, args map[string]any) (string, error) {
		from, err := time.LoadLocation(fmt.Sprint(args["from_zone"]))
		if err != nil {
			return "", err
		}
		to, err := time.LoadLocation(fmt.Sprint(args["to_zone"]))
		if err != nil {
			return "", err
		}
		at, err := time.ParseInLocation("2006-01-02 15:04", "2026-03-02 "+fmt.Sprint(args["clock_time"]), from)
		if err != nil {
			return "", err
		}
		return asJSON(map[string]string{"there": at.In(to).Format("2006-01-02T15:04:05Z07:00")})
	}
	return append(list, tool("root_of", "A root.",
		`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`),
		tool("elsewhere", "A time.", `{"type":"object","properties":{"clock_time":{"type":"string"},`+
			`"from_zone":{"type":"string"},"to_zone":{"type":"string"}},"required":["clock_time","from_zone","to_zone"]}`))
}

// Over calculators and clocks all tasks are of programs, half of them of several calls, of which later ones take what
// earlier ones came to. Few are refused.
func TestProgramsOverNumbers(t *testing.T) {
	s := newShop(t)
	tools := reckonTools(s)
	o := optionsOf(s)
	o.N, o.Asked = 80, 0.8
	made := run(t, s, tools, o)
	if n := len(made.Scenarios); n < 72 {
		t.Fatalf("%d scenarios, of 80 wanted\n%v", n, made.Report.Rows())
	}
	kinds, used, several, without, slips := map[string]bool{}, map[string]int{}, 0, 0, 0
	trial := checktest.Trial{Tools: s}
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		kinds[x.Tags[0]] = true
		for _, g := range x.Gold {
			used[g.Name]++
		}
		for _, slip := range x.Slips {
			if slips++; slip.Name != "elsewhere" || x.Split != scenario.Train ||
				!strings.Contains(x.Gold[slip.Before].Reasoning, " is no zone; ") {
				t.Errorf("%s: a slip %s %s before %v", x.ID, slip.Name, slip.Arguments, x.Gold)
			}
		}
		switch {
		case len(x.Gold) > 1:
			several++
		case len(x.Gold) == 0:
			without++
		}
		found, err := trial.Row(t.Context(), x)
		if err != nil || len(found) > 0 {
			t.Errorf("%s (%s): %v %v", x.ID, x.Task, found, err)
		}
	}
	if len(kinds) < 25 || len(used) != len(tools) || used["elsewhere"] < 20 || several < 30 ||
		without > 8 || slips == 0 {
		t.Errorf("%d kinds, %d of %d tools, %d of several calls, %d without one, %d slips",
			len(kinds), len(used), len(tools), several, without, slips)
	}
}

// A tool that takes expressions gets one for all the steps with numbers.
func TestExpressions(t *testing.T) {
	c := &calculator{does: map[string]reckonTool{}, roots: true,
		expression: &reckonTool{tool: &subject{Tool: tool("evaluate", "", none)}, a: "expression"}}
	r := rand.New(rand.NewPCG(1, 1))
	for _, kind := range []string{"diagonal", "shares", "growth"} {
		p := programs.Reckon(r, kind)
		calls, results := c.calls(p)
		if len(calls) != 1 || results[0] != programs.Digits(p.Steps[len(p.Steps)-1].Result) {
			t.Errorf("%s: %v %v", kind, calls, results)
		}
	}
	for kind, want := range map[string]int{"cheaper": 2, "chain": 3} { // each result is needed by itself
		if calls, results := c.calls(programs.Reckon(r, kind)); len(calls) != want || len(results) != want {
			t.Errorf("%s: %v %v", kind, calls, results)
		}
	}
	p := &programs.Reckoning{Program: &programs.Program{}, Steps: []programs.ReckonStep{
		{Do: programs.Plus, A: programs.Term{Value: 2}, B: programs.Term{Value: 3}, Result: 5},
		{Do: programs.Times, A: programs.Term{Of: 1}, B: programs.Term{Value: 4}, Result: 20, Why: "by four"},
		{Do: programs.Root, A: programs.Term{Of: 2}, Result: math.Sqrt(20)}}}
	calls, _ := c.calls(p)
	if got := string(calls[0].Arguments); got != `{"expression":"sqrt((2 + 3) * 4)"}` || calls[0].Why != "by four" {
		t.Errorf("the expression is %s", got)
	}
}
