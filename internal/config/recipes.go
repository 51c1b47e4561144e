package config

// AutoRecipe is the recipe of the defaults: docs/TRAINING.md says which of them were measured as better than their
// opposite.
const AutoRecipe = "auto"

// recipes are settings of GRPO by a name (grpo.recipe). One stands in the place of the defaults: each key that a
// configuration sets counts before it.
var recipes = map[string]struct {
	take func(*GRPO)
	why  string
}{
	AutoRecipe: {take: func(*GRPO) {}},
	"mixture": {mixture, "as a whole it was ahead of more SFT by 8.3 points [5.4, 11.1] and of rejection sampling by " +
		"14.1 [11.3, 16.9] on test, on three seeds with one model of 135M parameters"},
	"raft": {func(g *GRPO) {
		mixture(g)
		g.Loss, g.KL.Beta = "raft", 0
	}, "it has all of mixture but the policy gradient, and tells what that is worth"},
	"plain": {func(g *GRPO) {
		g.Advantage, g.Minibatches, g.Demonstrations.Rows = "group", 1, 0
	}, "it is GRPO with DAPO's loss, to compare with"},
}

// mixture is what was ahead on the tasks of a second server (docs/LEARNING.md).
func mixture(g *GRPO) {
	g.ScenariosPerStep, g.NegativeWeight, g.Resample, g.Explorations = 16, 0.3, 1, 16
	g.KL.Beta, g.KL.Gradient = 0.02, "k2"
	g.Pools.SkipSolved, g.Imitation.Rows = 0.8, 32
}
