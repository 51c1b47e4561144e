package config

import (
	"slices"
	"strings"
	"testing"
)

// A recipe stands in the place of the defaults, and what the file sets counts before it, wherever it stands; it is told
// with its reason, and a file that has all keys is read as it was.
func TestRecipes(t *testing.T) {
	for _, x := range []struct {
		text       string
		loss       string
		beta       float64
		rows       int // of imitation
		scenarios  int
		advantage  string
		shown      int // demonstrations
		wantChoice bool
	}{
		{"", "dapo", 0, 0, 16, "centred", -1, false},
		{"grpo: {recipe: auto}", "dapo", 0, 0, 16, "centred", -1, false},
		{"grpo: {recipe: mixture}", "dapo", 0.02, 32, 16, "centred", -1, true},
		{"grpo: {scenarios_per_step: 4, recipe: mixture, kl: {beta: 0.5}}", "dapo", 0.5, 32, 4, "centred", -1, true},
		{"grpo: {recipe: raft}", "raft", 0, 32, 16, "centred", -1, true},
		{"grpo: {recipe: plain}", "dapo", 0, 0, 16, "group", 0, true},
	} {
		c, err := Parse("f", []byte(x.text+"\n"))
		g := c.GRPO
		if err != nil || g.Loss != x.loss || g.KL.Beta != x.beta || g.Imitation.Rows != x.rows ||
			g.ScenariosPerStep != x.scenarios || g.Advantage != x.advantage || g.Demonstrations.Rows != x.shown {
			t.Errorf("%q: %v, %+v", x.text, err, g)
		}
		told := slices.ContainsFunc(c.Choices(c), func(c Choice) bool {
			return c.Key == "grpo.recipe" && strings.Contains(c.Why, "it")
		})
		if told != x.wantChoice {
			t.Errorf("%q: told %v", x.text, c.Choices(c))
		}
		text, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse("f", text); err != nil || again.GRPO != g {
			t.Errorf("%q: read again it is %+v, %v", x.text, again.GRPO, err)
		}
	}
	if _, err := Parse("f", []byte("grpo: {recipe: magic}\n")); err == nil {
		t.Error("a recipe that is not there is taken")
	}
	for name := range recipes {
		if _, err := Parse("f", []byte("grpo: {recipe: "+name+"}\n")); err != nil {
			t.Errorf("the key has no %s: %v", name, err)
		}
	}
}
