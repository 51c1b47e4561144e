package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"hone/internal/fault"
)

// adapted is one linear map that an adapter targets.
type adapted struct {
	site
	rank  int
	scale float64
}

// Check refuses an adapter that the model has no place for: an unknown target, a pattern that fits none, a rank of 0.
func (l LoRA) Check(s Spec) error {
	if err := l.checkTokens(s); err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "the adapter does not fit the model", Where: s.Name, Err: err,
			Next: "give the base model it was trained on with --base-model"}
	}
	if _, err := l.resolve(s); err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "the adapter does not fit the model", Where: s.Name, Err: err,
			Next: "target some of " + strings.Join(s.targetNames(), ", ") + ", or leave the targets out to have all"}
	}
	return nil
}

func (s Spec) targetNames() (names []string) {
	for _, t := range s.Targets() {
		names = append(names, t.Name())
	}
	return names
}

// resolve lists the linear maps that the adapter targets, layer by layer, with their ranks and scales. It matches as
// peft.tuners.tuners_utils does; where PEFT warns of a target that does not exist, it refuses.
func (l LoRA) resolve(s Spec) ([]adapted, error) {
	if l.Rank < 1 {
		return nil, fmt.Errorf("its rank is %d", l.Rank)
	}
	match, err := l.matcher()
	if err != nil {
		return nil, err
	}
	ranks, err := compile(l.RankPattern)
	if err != nil {
		return nil, err
	}
	alphas, err := compile(l.AlphaPattern)
	if err != nil {
		return nil, err
	}
	var found []adapted
	used := map[string]bool{}
	for layer := range s.NumLayers {
		for _, t := range s.Targets() {
			path := s.Path(layer, t)
			rank, alpha := l.Rank, l.Alpha
			if i := ranks.first(path, used); i >= 0 {
				rank = l.RankPattern[i].Value
			}
			if i := alphas.first(path, used); i >= 0 {
				alpha = l.AlphaPattern[i].Value
			}
			if !match(path, used) {
				continue
			}
			if rank < 1 || math.IsNaN(alpha) || math.IsInf(alpha, 0) {
				return nil, fmt.Errorf("%s has rank %d and alpha %v", path, rank, alpha)
			}
			found = append(found, adapted{site{layer, t}, rank, l.scale(rank, alpha)})
		}
	}
	for _, name := range slices.Concat(l.Targets, ranks.texts, alphas.texts) {
		if !used[name] {
			return nil, fmt.Errorf("%q fits no linear map of a layer%s", name, s.didYouMean(name))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%q fits no linear map", l.TargetPattern)
	}
	return found, l.checkTokens(s)
}

// didYouMean returns `; did you mean "q_proj"?` where a name's last part is close to a linear map's, else "".
func (s Spec) didYouMean(name string) string {
	path := strings.LastIndexByte(name, '.') + 1
	near := fault.Nearest(name[path:], s.targetNames())
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", name[:path]+near)
}

// Fitting is the adapter without the names and patterns that fit none of the model's linear maps, which PEFT passes
// over: an adapter names the targets of several families. One of which none fits stays as it is.
func (l LoRA) Fitting(s Spec) LoRA {
	used := map[string]bool{}
	match, err := l.matcher()
	ranks, errRanks := compile(l.RankPattern)
	alphas, errAlphas := compile(l.AlphaPattern)
	if err != nil || errRanks != nil || errAlphas != nil {
		return l
	}
	for layer := range s.NumLayers {
		for _, t := range s.Targets() {
			path := s.Path(layer, t)
			match(path, used)
			ranks.first(path, used)
			alphas.first(path, used)
		}
	}
	if l.Targets != nil {
		if fitting := slices.DeleteFunc(slices.Clone(l.Targets),
			func(name string) bool { return !used[name] }); len(fitting) > 0 {
			l.Targets = fitting
		}
	}
	l.RankPattern = slices.DeleteFunc(slices.Clone(l.RankPattern), func(p Pattern[int]) bool {
		return !used[p.Pattern]
	})
	l.AlphaPattern = slices.DeleteFunc(slices.Clone(l.AlphaPattern), func(p Pattern[float64]) bool {
		return !used[p.Pattern]
	})
	return l
}

// matcher returns whether a path is targeted; it notes which of Targets were found.
func (l LoRA) matcher() (func(path string, used map[string]bool) bool, error) {
	if l.TargetPattern != "" {
		if l.Targets != nil {
			return nil, fmt.Errorf("it has both names and a pattern of targets")
		}
		whole, err := pattern(`\A(?:` + l.TargetPattern + `)\z`)
		return func(path string, _ map[string]bool) bool { return matches(whole, path) }, err
	}
	return func(path string, used map[string]bool) bool {
		found := l.Targets == nil
		for _, name := range l.Targets {
			if path == name || strings.HasSuffix(path, "."+name) {
				found, used[name] = true, true
			}
		}
		return found
	}, nil
}

// patterns are regular expressions of which the first that fits counts.
type patterns struct {
	texts []string
	exprs []*regexp2.Regexp
}

func compile[T any](list []Pattern[T]) (p patterns, err error) {
	for _, x := range list {
		e, err := pattern(`\A(.*\.)?(` + x.Pattern + `)\z`)
		if err != nil {
			return p, err
		}
		p.texts, p.exprs = append(p.texts, x.Pattern), append(p.exprs, e)
	}
	return p, nil
}

// first returns the index of the first pattern that fits, -1 for none, and notes all that fit.
func (p patterns) first(path string, used map[string]bool) int {
	first := -1
	for i, e := range p.exprs {
		if matches(e, path) {
			used[p.texts[i]] = true
			if first < 0 {
				first = i
			}
		}
	}
	return first
}

// pattern compiles a regular expression as Python's re reads it: RE2 has no look-around, which adapters use.
func pattern(text string) (*regexp2.Regexp, error) {
	e, err := regexp2.Compile(text, regexp2.None)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", text, err)
	}
	e.MatchTimeout = time.Second
	return e, nil
}

// matches is false also where a pattern takes longer than a second, which then fits nothing and is refused for it.
func matches(e *regexp2.Regexp, path string) bool {
	ok, err := e.MatchString(path)
	return err == nil && ok
}
