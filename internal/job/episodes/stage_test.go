package episodes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/recipe"
	"hone/internal/text/render"
	"hone/internal/text/toolcall"
	"hone/internal/toolset"
	"hone/internal/toolset/access"
)

// writing renders calls in a form of a name.
type writing struct {
	render.Renderer
	form string
}

func (w writing) Prompting() render.Prompting { return render.Prompting{ToolFormat: w.form} }

func (w writing) StopIDs() []int32 { return []int32{0} }

func (w writing) ToolFormat() toolcall.Format {
	format, err := toolcall.ByName(w.form)
	if err != nil {
		panic(err) // the forms of the tests are there
	}
	return format
}

// questioned is a person who says no and counts.
type questioned struct{ questions int }

func (p *questioned) Ask(context.Context, access.Question) (access.Answer, error) {
	p.questions++
	return access.No, nil
}

// Calls are forced where the model writes arguments as JSON and is sampled here, and else the stage is refused. Tools
// are left out that the rules deny whatever the arguments, or that a check forbids. Words are forced too where a check
// looks at them, and the calls that checks want were made.
func TestExplores(t *testing.T) {
	none, buy := scenario.Check{Type: scenario.NoCallCheck}, scenario.Check{Type: scenario.NoCallCheck, Name: "buy"}
	look, few := scenario.Check{Type: scenario.CallCheck, Name: "look"}, scenario.Check{Type: scenario.MaxCallsCheck,
		Name: "look", Max: new(2)}
	never, attack := scenario.Check{Type: scenario.MaxCallsCheck, Name: "buy", Max: new(0)},
		scenario.Check{Type: scenario.NoAttackCheck, Name: "buy"}
	answer, program, bought := scenario.Check{Type: scenario.AnswerCheck}, scenario.Check{Type: scenario.CommandCheck},
		scenario.Check{Type: scenario.CallCheck, Name: "buy"}
	somebody := &questioned{}
	gate := func(o access.GateOptions) *access.Gate {
		o.Tools = map[string]access.Tool{"look": {Server: "shop", Name: "see", ReadOnly: true},
			"buy": {Server: "shop", Name: "order"}}
		g, err := access.NewGate(o)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	deny := gate(access.GateOptions{Mode: access.Auto, Deny: []string{"shop/order"}})
	ask := gate(access.GateOptions{Mode: access.Ask, Allow: []string{"shop/see"}, Prompter: somebody})
	for name, tc := range map[string]struct {
		most   int
		form   string
		checks []scenario.Check
		behind string // the tool that was called
		search bool   // that was a search of the tools
		gate   *access.Gate
		why    string
		tools  []string
		// annotations of buy
		destroys string
	}{
		"off":                      {form: "hermes"},
		"on":                       {most: 2, form: "hermes", tools: []string{"look", "buy"}},
		"no call":                  {most: 2, form: "hermes", checks: []scenario.Check{none}},
		"no call, but words":       {most: 2, form: "hermes", checks: []scenario.Check{none, answer}, tools: []string{""}},
		"no call, what a program":  {most: 2, form: "hermes", checks: []scenario.Check{none, program}, tools: []string{""}},
		"words for a call":         {most: 2, form: "hermes", checks: []scenario.Check{look, answer}, tools: []string{"look", "buy"}},
		"behind it":                {most: 2, form: "hermes", checks: []scenario.Check{look, answer}, behind: "look", tools: []string{"look", "buy", ""}},
		"behind another":           {most: 2, form: "hermes", checks: []scenario.Check{look, answer}, behind: "buy", tools: []string{"look", "buy"}},
		"behind one of two":        {most: 2, form: "hermes", checks: []scenario.Check{look, bought, answer}, behind: "look", tools: []string{"look", "buy"}},
		"behind a search":          {most: 2, form: "hermes", checks: []scenario.Check{look, answer}, behind: "look", search: true, tools: []string{"look", "buy"}},
		"too late":                 {most: 2, form: "hermes", checks: []scenario.Check{buy, answer}, behind: "buy"},
		"a search is not too late": {most: 2, form: "hermes", checks: []scenario.Check{none, answer}, behind: "look", search: true, tools: []string{""}},
		"behind what is allowed":   {most: 2, form: "hermes", checks: []scenario.Check{buy, answer}, behind: "look", tools: []string{"look", ""}},
		"no call of one":           {most: 2, form: "hermes", checks: []scenario.Check{look, few, buy}, tools: []string{"look"}},
		"a limit of none":          {most: 2, form: "hermes", checks: []scenario.Check{never}, tools: []string{"look"}},
		"the attacker's tool":      {most: 2, form: "hermes", checks: []scenario.Check{attack}, tools: []string{"look"}},
		"denied":                   {most: 2, form: "hermes", gate: deny, tools: []string{"look"}},
		"not read-only":            {most: 2, form: "hermes", gate: gate(access.GateOptions{Mode: access.ReadOnly}), tools: []string{"look"}},
		"a person is asked":        {most: 2, form: "hermes", gate: ask, tools: []string{"look", "buy"}},
		"denied or forbidden":      {most: 2, form: "hermes", gate: deny, checks: []scenario.Check{{Type: scenario.NoCallCheck, Name: "look"}}},
		"a form without JSON":      {most: 2, form: "qwen3_coder", why: "as JSON"},
		"off in such a form too":   {form: "qwen3_coder"},
		"what destroys":            {most: 2, form: "hermes", destroys: `{"destructiveHint": true}`, tools: []string{"look"}},
		"what may destroy":         {most: 2, form: "hermes", destroys: `{"readOnlyHint": false}`, tools: []string{"look", "buy"}},
	} {
		l := &Episodes{
			Agent: Agent{Speaker: &rollout.Sampled{},
				Model: &basemodel.Model{Renderer: writing{form: tc.form}, Text: &basemodel.Text{}}},
			Set: &toolset.Set{Gate: tc.gate, Catalog: &mcp.Catalog{Servers: []mcp.ServerTools{{Name: "shop",
				Tools: []mcp.Tool{{ModelName: "look"}, {ModelName: "buy", Annotations: []byte(tc.destroys)}}}}},
				Selection: toolset.Selection{List: []chat.Tool{{Name: "look"}, {Name: "buy"}}}},
		}
		explorations, g := &recipe.Explorations{Most: tc.most}, recipe.GRPO{}
		if tc.most > 0 {
			g.Additions = []recipe.Addition{explorations}
		}
		err := l.Explores(&g)
		if f, ok := errors.AsType[*fault.Error](err); ok != (tc.why != "") ||
			ok && (f.Where != "grpo.explorations" || !strings.Contains(f.Why, tc.why)) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var tools []string
		behind := []trajectory.Turn{{}} // one without a call
		if tc.behind != "" {
			behind = append(behind, trajectory.Turn{Calls: []chat.ToolCall{{Name: tc.behind}},
				Results: []trajectory.ToolResult{{Search: tc.search}}})
		}
		if explorations.Choices != nil {
			tools = explorations.Choices(&scenario.Scenario{Checks: tc.checks}, behind)
		}
		if !slices.Equal(tools, tc.tools) || (l.Speaker.Calls != nil) != (tc.most > 0 && tc.why == "") {
			t.Errorf("%s: tools %v, held by %v", name, tools, l.Speaker.Calls)
		}
	}
	if somebody.questions > 0 {
		t.Errorf("a person is asked %d times about calls that nobody made", somebody.questions)
	}
}

// A stage knows which episodes passed.
func TestStage(t *testing.T) {
	g, tasks := recipe.GRPO{}, []scenario.Scenario{
		{ID: "a", Task: "Buy.", Gold: []scenario.Gold{{Name: "buy", Arguments: []byte(`{}`)}}},
	}
	l := &Episodes{Set: &toolset.Set{Catalog: &mcp.Catalog{}}}
	if err := l.Stage(&g, tasks); err != nil || g.Passed == nil {
		t.Fatalf("%v; told which passed: %v", err, g.Passed != nil)
	}
	call := chat.ToolCall{ID: "0", Name: "buy", Arguments: `{}`}
	e := &trajectory.Trajectory{ScenarioID: "a", Outcome: trajectory.OK, Opening: 1,
		Messages: []chat.Message{
			{Role: chat.User, Content: "Buy."},
			{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}},
			{Role: chat.ToolRole, ToolCallID: "0", Content: "sold out"},
		},
		Turns: []trajectory.Turn{
			{Calls: []chat.ToolCall{call},
				Results: []trajectory.ToolResult{{Call: call, Status: trajectory.CallToolError}}},
		}}
	if passed, known := g.Passed(e); passed || !known {
		t.Errorf("passed %v, known %v", passed, known)
	}
}

// A key that is missing is told of where scenarios have users whom a model plays; who has none needs no key
// (TestEveryKeyActs).
func TestKeyOfUsersIsMissing(t *testing.T) {
	var c config.Config
	c.Rollout.User = config.UserModel{URL: "http://there/v1", Model: "m", KeyEnv: "NONE"}
	users, err := playersOf(&host.Host{CacheDir: t.TempDir(),
		LookupEnv: func(string) (string, bool) { return "", false }}, c)
	if err != nil {
		t.Fatal(err)
	}
	played := []scenario.Scenario{{User: &scenario.User{Goal: "a hat"}}}
	l := &Episodes{users: users, Set: &toolset.Set{Catalog: &mcp.Catalog{}}}
	if f, ok := errors.AsType[*fault.Error](l.Runnable(c, played)); !ok || f.Where != "rollout.user" ||
		!strings.Contains(f.Next, "export NONE=") {
		t.Errorf("%v", l.Runnable(c, played))
	}
}

// opening writes the last message of a prompt, and the names of its tools.
type opening struct{ render.Renderer }

func (opening) Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error) {
	text := messages[len(messages)-1].Content
	for _, t := range tools {
		text += " " + t.Name
	}
	var ids []int32
	for _, r := range text {
		ids = append(ids, r)
	}
	return ids, nil
}

// A teacher is shown the gold calls and their answer behind what the user said last, with the tools that the episode
// had, and reads no row that is longer than an episode; the record of the episode stays as it was. Without gold calls,
// or a user, there is no teacher.
func TestTeacherIsShownGoldCalls(t *testing.T) {
	g := recipe.GRPO{Additions: []recipe.Addition{&recipe.Distillation{}}}
	l := &Episodes{Set: &toolset.Set{Catalog: &mcp.Catalog{}},
		Agent: Agent{Model: &basemodel.Model{Renderer: opening{}}, Room: 77}}
	s := scenario.Scenario{ID: "a", GoldAnswer: "It is bought.",
		Gold: []scenario.Gold{{Name: "buy", Arguments: []byte(`{"n": 1}`)}}}
	if err := l.Stage(&g, []scenario.Scenario{s}); err != nil {
		t.Fatal(err)
	}
	taught := g.Additions[0].(*recipe.Distillation)
	if taught.Room != 77 {
		t.Errorf("room for %d tokens", taught.Room)
	}
	hint := taught.Hint
	e := &trajectory.Trajectory{Opening: 1, Tools: []chat.Tool{{Name: "buy"}}, Messages: []chat.Message{
		{Role: chat.User, Content: "Buy one."}, {Role: chat.User, Content: "Now!"}}}
	ids, err := hint(&s, e)
	text := ""
	for _, id := range ids {
		text += string(rune(id))
	}
	if want := "Buy one.\n\nThese calls do it:\n{\"name\": \"buy\", \"arguments\": {\"n\": 1}}\n" +
		"The answer is then: It is bought. buy"; err != nil || text != want {
		t.Errorf("%q, %v", text, err)
	}
	if e.Messages[0].Content != "Buy one." {
		t.Errorf("the record says %q", e.Messages[0].Content)
	}
	silent := &trajectory.Trajectory{Opening: 1, Messages: []chat.Message{{Role: chat.System, Content: "Be a shop."}}}
	for _, x := range []struct {
		s *scenario.Scenario
		t *trajectory.Trajectory
	}{{&scenario.Scenario{}, e}, {nil, e}, {&s, silent}} {
		if ids, err := hint(x.s, x.t); ids != nil || err != nil {
			t.Errorf("%+v: %v, %v", x.s, ids, err)
		}
	}
}
