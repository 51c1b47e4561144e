// Package judge asks a model how well episodes did: all of a scenario's episodes in one question, each with a score
// from 0 to 1, or one episode alone, which passes or fails. Calibration measures a judge before it is believed: how
// often it agrees with rules, with people and with itself, what places are worth to it, whether attempts that did
// nothing fool it, and what it costs.
//
// The group form is that of RULER (openpipe-art, art/rewards/ruler.py): what all attempts share stands once, and the
// judge gives each id a score with a reason. Beyond it: the order is shuffled and balanced over several samples, ids
// are matched, what attempts say is marked as data, long attempts are shortened to a budget, and a reply that is not
// what was asked for is asked for again.
package judge

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"hone/internal/blob"
	"hone/internal/fault"
)

// Rubric says what is judged by: criteria in words, or axes that each have a score of their own.
type Rubric struct {
	Name     string
	Criteria []string
	Axes     []Axis
	Pass     string  // in words: when an attempt alone has passed. Of axes it is PassFrom
	PassFrom float64 // with axes: the joined score from which an attempt passes, 0 to 1

	Least, Most float64 // of an axis
	Whole       bool    // scores of axes are whole numbers
	Bands       []Band
	Strictness  string
	References  []string           // what of a scenario's reference the judge is shown, such as "gold_answer"
	Weights     map[string]float64 // of the axes' groups in the joined score; empty: each axis counts alike
	Samples     int                // how often to ask; 0: the rubric does not say
	// parts of the rubric itself that are in another order each time: groups, axes, scores
	Shuffled []string
	Sum      string // SHA-256 of its text
}

// Axis is one thing that an attempt is scored for. What is shared: the part of Counts that is Good.
type Axis struct{ Name, Group, Counts, Good string }

// Band says which scores go with which share of faults.
type Band struct {
	Faults []float64 `yaml:"faults"`
	Score  []float64 `yaml:"score"`
}

//go:embed default.yaml
var builtIn []byte

// DefaultRubric is the one that is used where no other is named.
func DefaultRubric() Rubric {
	r, err := ParseRubric("the built-in rubric", builtIn)
	if err != nil {
		panic(err) // a mistake in this package, which its tests show
	}
	return r
}

// maxRubric is the size above which a file is taken for something else.
const maxRubric = 1 << 18

// file is a rubric as it is written.
type file struct {
	Name     string   `yaml:"name"`
	Criteria []string `yaml:"criteria"`
	Pass     string   `yaml:"pass"`
	PassFrom float64  `yaml:"pass_from"`
	Scale    struct {
		Least float64 `yaml:"least"`
		Most  float64 `yaml:"most"`
		Whole bool    `yaml:"whole_numbers"`
	} `yaml:"scale"`
	Shown      []string      `yaml:"shown"`
	Axes       yaml.MapSlice `yaml:"axes"`
	Scores     []Band        `yaml:"scores"`
	Strictness string        `yaml:"strictness"`
	Runs       struct {
		Number  int      `yaml:"number"`
		Shuffle []string `yaml:"shuffle"`
	} `yaml:"runs"`
	Overall map[string]any `yaml:"overall"`
}

// ParseRubric reads a rubric. Its errors name the file and what is wrong in it.
func ParseRubric(name string, text []byte) (Rubric, error) {
	bad := func(err error) (Rubric, error) {
		return Rubric{}, &fault.Error{Code: fault.CodeUsage, What: "the judge's rubric cannot be used",
			Where: name, Err: err, Next: `write at least "criteria: [TEXT, ...]"; docs/guide.md describes the keys`}
	}
	if len(text) > maxRubric {
		return bad(fmt.Errorf("it has more than %d bytes", maxRubric))
	}
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		return bad(errors.New(yaml.FormatError(err, false, false)))
	}
	for _, doc := range parsed.Docs {
		aliases := &aliasFinder{}
		if doc.Body != nil {
			ast.Walk(aliases, doc.Body)
		}
		if aliases.found { // a small file must not stand for millions of nodes
			return bad(errors.New("anchors, aliases and merge keys are not supported: write the values out"))
		}
	}
	var f file
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return bad(errors.New(yaml.FormatError(err, false, false)))
	}
	r := Rubric{Name: f.Name, Criteria: f.Criteria, Pass: f.Pass, PassFrom: f.PassFrom, Least: f.Scale.Least,
		Most: f.Scale.Most, Whole: f.Scale.Whole, Bands: f.Scores, Strictness: f.Strictness, Samples: f.Runs.Number,
		Shuffled: f.Runs.Shuffle, Sum: blob.Of(text).String()}
	for _, shown := range f.Shown {
		if what, is := strings.CutPrefix(shown, "reference."); is {
			r.References = append(r.References, what)
		}
	}
	if err := r.readAxes(f.Axes); err != nil {
		return bad(err)
	}
	if err := r.readOverall(f.Overall); err != nil {
		return bad(err)
	}
	if err := r.check(f.Shown); err != nil {
		return bad(err)
	}
	return r, nil
}

type aliasFinder struct{ found bool }

// Visit implements ast.Visitor.
func (v *aliasFinder) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		v.found = true
	}
	return v
}

func (r *Rubric) readAxes(axes yaml.MapSlice) error {
	for _, item := range axes {
		a := Axis{Name: fmt.Sprint(item.Key)}
		text, err := yaml.Marshal(item.Value)
		var fields struct {
			Group  string `yaml:"group"`
			Counts string `yaml:"counts"`
			Good   string `yaml:"good"`
		}
		if err == nil {
			err = yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&fields)
		}
		if err != nil {
			return fmt.Errorf("axes.%s: it has group, counts and good, which are texts", a.Name)
		}
		a.Group, a.Counts, a.Good = fields.Group, fields.Counts, fields.Good
		if a.Good == "" {
			return fmt.Errorf("axes.%s does not say what is good", a.Name)
		}
		r.Axes = append(r.Axes, a)
	}
	return nil
}

// readOverall reads how axes are joined: groups with their axes, and their weights. A group without axes, as the rule
// metrics of MCP-Bench, is none of the judge's, and the others' weights are taken among themselves.
func (r *Rubric) readOverall(overall map[string]any) error {
	weights, _ := overall["weights"].(map[string]any)
	groups := map[string]bool{}
	for _, a := range r.Axes {
		groups[a.Group] = true
	}
	for name, w := range weights {
		var x float64
		switch w := w.(type) {
		case float64:
			x = w
		case uint64:
			x = float64(w)
		case int64:
			x = float64(w)
		default:
			return fmt.Errorf("overall.weights.%s is no number", name)
		}
		if !(x >= 0 && x < 1e6) {
			return fmt.Errorf("overall.weights.%s is %v; a weight is 0 or more", name, x)
		}
		if groups[name] {
			if r.Weights == nil {
				r.Weights = map[string]float64{}
			}
			r.Weights[name] = x
		}
	}
	for name, of := range overall {
		list, isList := of.([]any)
		if name == "weights" || !isList || !groups[name] {
			continue
		}
		for _, axis := range list {
			if !slices.ContainsFunc(r.Axes, func(a Axis) bool { return a.Name == axis && a.Group == name }) {
				return fmt.Errorf("overall.%s names %v, which is no axis of that group", name, axis)
			}
		}
	}
	return nil
}

// shownAlways are the parts of a question that it has whatever the rubric says.
var shownAlways = []string{"task", "answer", "trajectory", "tools", "rounds"}

func (r *Rubric) check(shown []string) error {
	if len(r.Criteria) == 0 && len(r.Axes) == 0 {
		return errors.New("it has neither criteria nor axes")
	}
	if len(r.Criteria) > 0 && len(r.Axes) > 0 {
		return errors.New("it has both criteria and axes: write the criteria as axes, or leave the axes out")
	}
	for _, s := range shown {
		if !strings.HasPrefix(s, "reference.") && !slices.Contains(shownAlways, s) {
			return fmt.Errorf("shown: %q is none of %s and reference.KEY", s, strings.Join(shownAlways, ", "))
		}
	}
	for _, s := range r.Shuffled {
		if s != "groups" && s != "axes" && s != "scores" {
			return fmt.Errorf("runs.shuffle: %q is none of groups, axes and scores", s)
		}
	}
	if r.Samples < 0 || r.Samples > maxSamples {
		return fmt.Errorf("runs.number is %d; it is at most %d", r.Samples, maxSamples)
	}
	for _, b := range r.Bands {
		if len(b.Faults) != 2 || len(b.Score) != 2 {
			return errors.New("scores: each has faults and score, which are two numbers, such as [0.0, 0.1]")
		}
	}
	if len(r.Axes) > 0 {
		return r.checkAxes()
	}
	if r.Pass == "" {
		r.Pass = "the task was done as it was asked"
	}
	if r.PassFrom != 0 || r.Most != 0 {
		return errors.New("scale and pass_from are of axes; criteria are scored from 0 to 1")
	}
	return nil
}

// passFrom is the joined score from which an attempt passes where a rubric of axes does not say.
const passFrom = 0.7

func (r *Rubric) checkAxes() error {
	if r.Most == 0 {
		r.Least, r.Most = 0, 1
	}
	if !(r.Most > r.Least && r.Least >= 0) {
		return fmt.Errorf("scale: least is %v and most is %v", r.Least, r.Most)
	}
	if r.PassFrom == 0 {
		r.PassFrom = passFrom
	}
	if !(r.PassFrom > 0 && r.PassFrom <= 1) {
		return fmt.Errorf("pass_from is %v; it is a joined score, above 0 and at most 1", r.PassFrom)
	}
	total := 0.0
	for _, a := range r.Axes {
		total += r.weight(a.Group)
	}
	if total == 0 {
		return errors.New("overall.weights: all of the axes' groups have the weight 0")
	}
	return nil
}

// weight is that of a group of axes.
func (r *Rubric) weight(group string) float64 {
	if len(r.Weights) == 0 {
		return 1
	}
	return r.Weights[group]
}

// join makes one score of the axes', 0 to 1: the mean of each group, divided by the end of the scale, weighted. Without
// weights each axis counts alike.
func (r *Rubric) join(axes map[string]float64) float64 {
	type group struct{ total, count float64 }
	groups := map[string]*group{}
	var names []string // in the axes' order, so that sums do not depend on a map's
	for _, a := range r.Axes {
		name := a.Group
		if len(r.Weights) == 0 {
			name = a.Name
		}
		if groups[name] == nil {
			groups[name] = &group{}
			names = append(names, name)
		}
		groups[name].total += axes[a.Name]
		groups[name].count++
	}
	score, weights := 0.0, 0.0
	for _, name := range names {
		w := r.weight(name)
		score += w * groups[name].total / groups[name].count / r.Most
		weights += w
	}
	return score / weights
}
