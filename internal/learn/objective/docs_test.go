package objective

import (
	"flag"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/learn/batch"
)

var update = flag.Bool("update", false, "write docs/OBJECTIVES.md anew")

// sections of docs/OBJECTIVES.md: a title, and whose docstrings stand below it, as FILE NAME, where FILE is below
// internal.
var sections = []struct {
	title string
	of    []string
}{
	{"The clipped loss: `dapo`, `grpo`, `bnpo`, `dr_grpo`", []string{"learn/objective/clip.go clipped"}},
	{"One ratio for each row: `gspo`", []string{"learn/objective/gspo.go gspo"}},
	{"A clipped weight: `cispo`", []string{"learn/objective/cispo.go cispo"}},
	{"Demonstrations", []string{"learn/objective/likelihood.go likelihood"}},
	{"Pairs: `dpo`", []string{"learn/objective/preference.go preference", "learn/batch/preference.go Preference"}},
	{"From tokens to a step", []string{"learn/batch/reduction.go Reduction", "learn/batch/reduction.go TokenMean",
		"learn/batch/reduction.go EpisodeMean", "learn/batch/reduction.go Constant"}},
	{"Advantages: `grpo.advantage`", []string{"learn/batch/advantage.go Of", "learn/batch/advantage.go PerTerm"}},
	{"Turns: `grpo.credit`", []string{"episode/reward/turns.go Turns", "learn/batch/credit.go Returns", "learn/batch/credit.go Of"}},
	{"Self-imitation: `grpo.imitation`", []string{"recipe/imitation.go Imitation"}},
	{"Explorations: `grpo.explorations`", []string{"recipe/explorations.go Explorations"}},
	{"Long completions: `rewards.overlong`", []string{"episode/reward/overlong.go Overlong"}},
	{"Dynamic sampling and pools: `grpo.resample`, `grpo.pools`", []string{"recipe/resample.go Resample", "recipe/pools.go Pools"}},
	{"Divergence from a reference: `grpo.kl`", []string{"learn/objective/divergence.go divergence"}},
	{"A bonus for entropy: `grpo.entropy`", []string{"learn/objective/bonus.go bonus", "recipe/entropy.go Entropy"}},
	{"Demonstrations: `grpo.demonstrations`", []string{"recipe/demonstrations.go Demonstrations"}},
	{"Rejection sampling again and again: `grpo.loss: raft`", []string{"recipe/raft.go RAFT"}},
	{"Self-distillation: `grpo.distillation`", []string{"recipe/distillation.go Distillation"}},
	{"Of whom a step learns: `gradient_share/...`", []string{"recipe/shares.go shares"}},
	{"Tokens of high entropy: `grpo.top_entropy`", []string{"learn/batch/entropy.go TopEntropy"}},
	{"Difference of sampler and trainer: `grpo.correction`", []string{"learn/batch/correction.go Correction"}},
	{"Rows that the policy has left: `grpo.off_policy`", []string{"learn/objective/offpolicy.go offPolicy"}},
}

// titles are those of all sections.
func titles() (all string) {
	for _, s := range sections {
		all += s.title + "\n"
	}
	return all
}

const opening = `# Objectives

What a step of GRPO, SFT or DPO minimises, by the keys of ` + "`hone.yaml`" + `. This page is made from the docstrings of the code
(` + "`go test ./internal/learn/objective -run TestDocs -update`" + `). Each formula has a reference in float64 beside its graph.
Tests hold both to numbers that were worked by hand, and to those of TRL 1.16, where TRL has the formula
(` + "`testdata/reference/make_trl.py`" + `, to 1e-6, gradients too).

| grpo.loss | loss of a token | tokens become a step by |
|---|---|---|
`

// The page on objectives is what the code says.
func TestDocs(t *testing.T) {
	text := opening
	for _, loss := range batch.Losses()[1:] {
		o, err := Of(batch.Objective{Loss: loss})
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("| `%s` | %s | %s |\n",
			loss, strings.TrimPrefix(fmt.Sprintf("%T", o), "objective."), loss.Reduction())
		if !strings.Contains(titles(), fmt.Sprintf("`%s`", loss)) {
			t.Errorf("no section has the formula of %s: add one to sections", loss)
		}
	}
	text += `
BNPO is the mean over the tokens of a micro-batch in TRL. Here no micro-batch changes a step, so it is DAPO's mean over all tokens.
`
	text = strings.ReplaceAll(text, "so it is DAPO's mean over all tokens.", "so it is DAPO's\nmean over all tokens.")
	for _, s := range sections {
		text += "\n## " + s.title + "\n"
		for _, of := range s.of {
			file, name, _ := strings.Cut(of, " ")
			text += "\n" + docstring(t, filepath.Join("../..", file), name)
		}
	}
	const page = "../../../docs/OBJECTIVES.md"
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(was) != text {
		t.Error("docs/OBJECTIVES.md is not what the code says; -update writes it anew")
	}
}

// docstring is that of a type, function or constant of a file, as Markdown of at most 120 columns.
func docstring(t *testing.T, file, name string) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == name {
				found = n.Doc.Text()
			}
		case *ast.GenDecl:
			for _, s := range n.Specs {
				if x, ok := s.(*ast.TypeSpec); ok && x.Name.Name == name {
					found = n.Doc.Text()
				}
				if x, ok := s.(*ast.ValueSpec); ok && x.Names[0].Name == name {
					found = x.Doc.Text()
				}
			}
		}
		return true
	})
	if found == "" {
		t.Fatalf("%s has no docstring of %s", file, name)
	}
	var p comment.Parser
	return string((&comment.Printer{TextWidth: 116, TextCodePrefix: "    "}).Text(p.Parse(found)))
}
