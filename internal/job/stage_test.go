package job

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/recipe"
	"hone/internal/text/render"
	"hone/internal/toolset"
)

// writing renders calls in a form of a name.
type writing struct {
	render.Renderer
	form string
}

func (w writing) Prompting() render.Prompting { return render.Prompting{ToolFormat: w.form} }
func (w writing) StopIDs() []int32            { return []int32{0} }

// Calls are forced where the model writes arguments as JSON and is sampled here, and else the stage is refused; scenarios in which any call is wrong have none.
func TestExplores(t *testing.T) {
	none := scenario.Check{Type: scenario.NoCallCheck}
	for name, tc := range map[string]struct {
		most   int
		form   string
		away   *away
		checks []scenario.Check
		why    string
		tools  []string
	}{
		"off":                      {form: "hermes"},
		"on":                       {most: 2, form: "hermes", tools: []string{"look", "buy"}},
		"no call":                  {most: 2, form: "hermes", checks: []scenario.Check{none}},
		"no call of one":           {most: 2, form: "hermes", checks: []scenario.Check{{Type: scenario.NoCallCheck, Name: "buy"}}, tools: []string{"look", "buy"}},
		"a form without JSON":      {most: 2, form: "qwen3_coder", why: "as JSON"},
		"a server that samples":    {most: 2, form: "hermes", away: &away{settings: config.Sampler{URL: "http://there/v1"}}, why: "http://there/v1"},
		"off on such a server too": {form: "qwen3_coder", away: &away{}},
	} {
		l := &Episodes{Model: &basemodel.Model{Renderer: writing{form: tc.form}, Text: &basemodel.Text{}}, away: tc.away,
			Set: &toolset.Set{Selection: toolset.Selection{List: []chat.Tool{{Name: "look"}, {Name: "buy"}}}}}
		c, g := config.Config{}, recipe.GRPO{}
		c.GRPO.Explorations = tc.most
		err := l.Explores(c, &g)
		if f, ok := errors.AsType[*fault.Error](err); ok != (tc.why != "") || ok && (f.Where != "grpo.explorations" || !strings.Contains(f.Why, tc.why)) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var tools []string
		if g.Explorations.Tools != nil {
			tools = g.Explorations.Tools(&scenario.Scenario{Checks: tc.checks})
		}
		if !slices.Equal(tools, tc.tools) || (l.Speaker.Calls != nil) != (tc.most > 0 && tc.why == "") {
			t.Errorf("%s: tools %v, held by %v", name, tools, l.Speaker.Calls)
		}
	}
}
