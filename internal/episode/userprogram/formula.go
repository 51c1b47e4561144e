package userprogram

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// Facts are what a formula sees of an episode. The names are those of the tags.
type Facts struct {
	// the scores of the terms of Terms that are said of it, before their weights
	Terms      map[string]float64 `expr:"terms"`
	Calls      []Call             `expr:"calls"`       // of servers' tools, in order
	Gold       int                `expr:"gold"`        // number of gold calls of its scenario
	Turns      int                `expr:"turns"`       // completions
	Tokens     int                `expr:"tokens"`      // sampled
	Outcome    string             `expr:"outcome"`     // trajectory.Outcome
	StopReason string             `expr:"stop_reason"` // trajectory.StopReason
	Answer     string             `expr:"answer"`      // trajectory.Trajectory.Answer
	Difficulty string             `expr:"difficulty"`  // the scenario's
}

// Call is one call of a tool.
type Call struct {
	Name      string `expr:"name"`
	Arguments string `expr:"arguments"` // as JSON
	Status    string `expr:"status"`    // trajectory.CallStatus
}

// everywhere are the terms that each episode has. Another may be said of one episode of a group and not of the next, so
// a formula says what it counts for then.
var everywhere = []string{"end", "parse"}

// Terms are the names that a formula may use.
func Terms() []string {
	return append([]string{"checks", "extra", "call", "tool", "repeat", "invalid", "arguments", "recovery", "repair",
		"economy", "length", "overlong", "program", "judge", "rating"}, everywhere...)
}

// Formula is a formula that has been read.
type Formula struct {
	Text    string
	program *vm.Program
}

// Compile reads a formula. It refuses what is no number whatever the episode, names that are not there, and what gives
// another value when it is computed again: the time, and the order of an object's keys.
func Compile(text string) (*Formula, error) {
	terms := types.Map{}
	for _, name := range Terms() {
		terms[name] = types.Float64
	}
	f := Facts{}
	named := types.Map{
		"terms": terms, "calls": types.TypeOf(f.Calls), "gold": types.Int, "turns": types.Int, "tokens": types.Int,
		"outcome": types.String, "stop_reason": types.String, "answer": types.String, "difficulty": types.String,
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, plain(err)
	}
	used := &termsUsed{}
	ast.Walk(&tree.Node, used)
	if err := used.check(); err != nil {
		return nil, err
	}
	options := []expr.Option{expr.Env(named), expr.AsFloat64(), expr.WarnOnAny(), expr.Patch(floats{})}
	for _, name := range []string{"now", "keys", "values", "toPairs"} {
		options = append(options, expr.DisableBuiltin(name))
	}
	p, err := expr.Compile(text, options...)
	if err != nil {
		return nil, plain(err)
	}
	return &Formula{text, p}, nil
}

// Of is the formula's value for an episode. Its error says why there is none: it is no finite number, or an operation
// has no value.
func (f *Formula) Of(facts Facts) (float64, error) {
	terms := map[string]any{}
	for name, score := range facts.Terms {
		terms[name] = score
	}
	value, err := expr.Run(f.program, map[string]any{
		"terms": terms, "calls": facts.Calls, "gold": facts.Gold, "turns": facts.Turns, "tokens": facts.Tokens,
		"outcome": facts.Outcome, "stop_reason": facts.StopReason, "answer": facts.Answer,
		"difficulty": facts.Difficulty,
	})
	if err != nil {
		return 0, plain(err)
	}
	x, ok := value.(float64)
	if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("the formula %q is %v, which is no finite number", f.Text, value)
	}
	return x, nil
}

// plain is an error of the library on one line, with its place.
func plain(err error) error {
	if e, ok := errors.AsType[*file.Error](err); ok {
		return fmt.Errorf("%s, at column %d", e.Message, e.Column+1)
	}
	return err
}

// termsUsed finds how a formula names terms.
type termsUsed struct {
	bases       map[ast.Node]bool // identifiers in front of a name
	bare        []ast.Node        // all identifiers that are terms
	named       map[ast.Node]string
	substituted map[ast.Node]bool // those that another value stands in for
}

func (u *termsUsed) Visit(node *ast.Node) {
	if u.bases == nil {
		u.bases, u.named, u.substituted = map[ast.Node]bool{}, map[ast.Node]string{}, map[ast.Node]bool{}
	}
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == "terms" {
			u.bare = append(u.bare, n)
		}
	case *ast.MemberNode:
		base, ok := n.Node.(*ast.IdentifierNode)
		if name, constant := n.Property.(*ast.StringNode); ok && base.Value == "terms" && constant {
			u.bases[base], u.named[n] = true, name.Value
		}
	case *ast.BinaryNode:
		if n.Operator == "??" {
			u.substituted[n.Left] = true
		}
	}
}

// check refuses terms that are not there, and those that an episode may not have where nothing stands in for them.
func (u *termsUsed) check() error {
	for _, n := range u.bare {
		if !u.bases[n] {
			return errors.New("terms is used by the name of a term, such as terms.end")
		}
	}
	for n, name := range u.named {
		switch {
		case !slices.Contains(Terms(), name):
			return fmt.Errorf("there is no term %q; there are %s", name, strings.Join(Terms(), ", "))
		case !slices.Contains(everywhere, name) && !u.substituted[n]:
			return fmt.Errorf("not every episode has the term %s: write (terms.%s ?? 0), "+
				"with what it counts for without", name, name)
		}
	}
	return nil
}

// floats makes whole numbers that stand beside a fraction, as one of two values, fractions too, so that types are
// known.
type floats struct{}

func (floats) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BinaryNode:
		if n.Operator == "??" {
			float(&n.Right)
		}
	case *ast.ConditionalNode:
		float(&n.Exp1)
		float(&n.Exp2)
	}
}

func float(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IntegerNode:
		ast.Patch(node, &ast.FloatNode{Value: float64(n.Value)})
	case *ast.UnaryNode:
		float(&n.Node)
	}
}
