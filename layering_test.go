// Package hone_test holds the rules of the house that a compiler does not check: who may import whom (deps.txt), sizes,
// names that are banned, and what a lock file may hold. Each failure says why the rule exists.
package hone_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePrefix = "hone/"

// graph maps a package, as deps.txt names it, to what its non-test files import: "chat", or a path outside the module.
type graph map[string][]string

// rules is deps.txt.
type rules struct {
	allow   map[string][]string
	library []rule
	closure []rule
	outside []rule // subjects alone: what the core builds and reads without
}

// rule holds both kinds that carry a reason: subjects may import targets (library), or may not reach them (closure).
type rule struct {
	subjects, targets []string
	reason            string
}

func parseRules(text string) (rules, error) {
	r := rules{allow: map[string][]string{}}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, reason, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		kind, rest, _ := strings.Cut(line, " ")
		left, right, found := strings.Cut(rest, ":")
		subjects, targets := strings.Fields(left), strings.Fields(right)
		reason = strings.TrimSpace(reason)
		switch {
		case !found || len(subjects) == 0:
			return r, fmt.Errorf("deps.txt:%d: want KIND NAMES: NAMES, have %q", n, line)
		case kind == "allow" && len(subjects) == 1 && r.allow[subjects[0]] == nil:
			r.allow[subjects[0]] = append([]string{}, targets...)
		case kind == "library" && reason != "":
			r.library = append(r.library, rule{subjects: targets, targets: subjects, reason: reason})
		case kind == "closure" && reason != "":
			r.closure = append(r.closure, rule{subjects: subjects, targets: targets, reason: reason})
		case kind == "outside" && reason != "" && len(targets) == 0:
			r.outside = append(r.outside, rule{subjects: subjects, reason: reason})
		default:
			return r, fmt.Errorf("deps.txt:%d: unknown kind, second allowance, or a rule without a reason: %q", n, line)
		}
	}
	return r, lines.Err()
}

// matches reports whether a deps.txt name covers a package: itself, "x/*" for all below x, "x/" for a path prefix.
func matches(pattern, pkg string) bool {
	if below, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(pkg, below)
	}
	return pkg == pattern ||
		strings.HasPrefix(pkg, strings.TrimSuffix(pattern, "/")+"/") && strings.Contains(pattern, ".")
}

func anyMatches(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, pkg) })
}

// check returns every breach of the rules, sorted.
func (r rules) check(g graph) []string {
	var out []string
	for pkg, imports := range g {
		out = append(out, r.checkPackage(pkg, imports)...)
		for _, c := range r.closure {
			if !anyMatches(c.subjects, pkg) {
				continue
			}
			for _, target := range c.targets {
				if way := g.reach(pkg, target); way != nil {
					out = append(out,
						fmt.Sprintf("%s reaches %s (%s): %s", pkg, target, strings.Join(way, " -> "), c.reason))
				}
			}
		}
	}
	out = append(out, r.unused(g)...)
	slices.Sort(out)
	return out
}

// unused returns what deps.txt grants and nobody takes: a wall with a door that nobody uses is read as one that
// somebody needs.
func (r rules) unused(g graph) (out []string) {
	for pkg, allowed := range r.allow {
		imports, there := g[pkg]
		if !there {
			out = append(out, fmt.Sprintf("deps.txt has a line for %s, which is no package", pkg))
			continue
		}
		for _, a := range allowed {
			if !slices.Contains(imports, a) {
				out = append(out, fmt.Sprintf("deps.txt allows %s to import %s, which it does not", pkg, a))
			}
		}
	}
	for _, l := range r.library {
		for _, pkg := range l.subjects {
			for _, target := range l.targets {
				if !slices.ContainsFunc(g[pkg], func(i string) bool { return matches(target, i) }) {
					out = append(out, fmt.Sprintf("deps.txt allows %s to import %s, which it does not", pkg, target))
				}
			}
		}
	}
	for _, c := range r.closure {
		for _, name := range slices.Concat(c.subjects, c.targets) {
			if !g.knows(name) {
				out = append(out, fmt.Sprintf("a closure of deps.txt names %s, which is no package", name))
			}
		}
	}
	return out
}

// knows reports whether a name of deps.txt covers a package, or what one imports.
func (g graph) knows(name string) bool {
	for pkg, imports := range g {
		if matches(name, pkg) || slices.ContainsFunc(imports, func(i string) bool { return matches(name, i) }) {
			return true
		}
	}
	return false
}

func (r rules) checkPackage(pkg string, imports []string) (out []string) {
	allowed, known := r.allow[pkg]
	if !known && pkg != "cmd/hone" {
		out = append(out,
			fmt.Sprintf("%s has no line in deps.txt: write down what it may import, the whole of it", pkg))
	}
	for _, i := range imports {
		outside := strings.Contains(strings.SplitN(i, "/", 2)[0], ".")
		if !outside && known && !slices.Contains(allowed, i) {
			out = append(out, fmt.Sprintf("%s imports %s, which its line in deps.txt does not allow: "+
				"see docs/DESIGN.md, rooms", pkg, i))
		}
		for _, o := range r.outside {
			if anyMatches(o.subjects, i) && !anyMatches(o.subjects, pkg) {
				out = append(out, fmt.Sprintf("%s imports %s, which stands outside the core: %s", pkg, i, o.reason))
			}
		}
		for _, l := range r.library {
			if anyMatches(l.targets, i) && !slices.Contains(l.subjects, pkg) {
				out = append(out, fmt.Sprintf("%s imports %s, which is for %s alone: %s",
					pkg, i, strings.Join(l.subjects, ", "), l.reason))
			}
		}
	}
	return out
}

// reach returns a chain of imports from pkg to the target, nil where there is none.
func (g graph) reach(pkg, target string) []string {
	ways := map[string][]string{pkg: {pkg}}
	for queue := []string{pkg}; len(queue) > 0; queue = queue[1:] {
		for _, i := range g[queue[0]] {
			if ways[i] != nil {
				continue
			}
			ways[i] = append(slices.Clone(ways[queue[0]]), i)
			if matches(target, i) {
				return ways[i]
			}
			queue = append(queue, i)
		}
	}
	return nil
}

// goFiles returns every Go file of the repository by its slash path, vendored and generated folders left out.
func goFiles(t *testing.T) map[string][]byte {
	t.Helper()
	return files(t, func(name string) bool { return strings.HasSuffix(name, ".go") })
}

func files(t *testing.T, want func(name string) bool) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // other packages' tests run beside this one, and may write and remove files
			return nil
		}
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != "." && (strings.HasPrefix(name, ".") ||
				slices.Contains([]string{"node_modules", "bin", "dist", "runs"}, name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !want(name) {
			return nil
		}
		b, err := os.ReadFile(p)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		out[filepath.ToSlash(p)] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// importGraph parses imports only, so it also reads packages that do not compile at the moment.
func importGraph(t *testing.T) graph {
	t.Helper()
	sets := map[string]map[string]bool{}
	for name, src := range goFiles(t) {
		dir := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") || dir == "." {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(dir, "internal/")
		if sets[pkg] == nil {
			sets[pkg] = map[string]bool{}
		}
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if own, ok := strings.CutPrefix(p, modulePrefix); ok {
				sets[pkg][strings.TrimPrefix(own, "internal/")] = true
			} else if strings.Contains(strings.SplitN(p, "/", 2)[0], ".") {
				sets[pkg][p] = true
			}
		}
	}
	g := graph{}
	for pkg, set := range sets {
		g[pkg] = slices.Sorted(maps.Keys(set))
	}
	return g
}

func TestLayering(t *testing.T) {
	text, err := os.ReadFile("deps.txt")
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseRules(string(bytes.TrimSpace(text)))
	if err != nil {
		t.Fatal(err)
	}
	g := importGraph(t)
	if len(g["config"]) == 0 {
		t.Fatal("the graph is empty: the walk found nothing")
	}
	for _, breach := range r.check(g) {
		t.Error(breach)
	}
}

// The checker is shown to find each kind of breach in a graph made for it, and none in the sound one.
func TestLayeringFindsPlantedImports(t *testing.T) {
	r, err := parseRules(`
allow chat:
allow mcp: chat
allow episode/rollout: chat
allow recipe: chat helper
allow helper: chat
allow learn/engine: chat
library github.com/gomlx/: learn/engine   # tensors stay in one place
closure recipe episode/*: mcp github.com/gomlx/   # tested with fakes
outside benchmarks/*:   # the core knows of none
allow benchmarks/one: chat
allow benchmarks/two: benchmarks/one
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, pkg, imports, want string }{
		{"sound", "", "", ""},
		{"not allowed", "chat", "mcp", "chat imports mcp, which its line in deps.txt does not allow"},
		{"unknown package", "new", "chat", "new has no line in deps.txt"},
		{"library", "mcp", "github.com/gomlx/gomlx/graph", "tensors stay in one place"},
		{"closure through another", "helper", "mcp", "recipe reaches mcp (recipe -> helper -> mcp): tested with fakes"},
		{"the command and a benchmark", "cmd/hone", "benchmarks/one", "cmd/hone imports benchmarks/one, which stands outside the core: the core knows of none"},
		{"a room and a benchmark", "mcp", "benchmarks/one", "mcp imports benchmarks/one, which stands outside the core"},
		{"closure by wildcard", "episode/rollout", "github.com/gomlx/compute", "episode/rollout reaches github.com/gomlx/"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := graph{
				"chat": {}, "mcp": {"chat"}, "episode/rollout": {"chat"}, "helper": {"chat"},
				"recipe": {"chat", "helper"}, "learn/engine": {"chat", "github.com/gomlx/compute"},
				"benchmarks/one": {"chat"}, "benchmarks/two": {"benchmarks/one"}, "cmd/hone": {"mcp", "recipe",
					"learn/engine"},
			}
			if tc.pkg != "" {
				g[tc.pkg] = append(g[tc.pkg], tc.imports)
			}
			got := strings.Join(r.check(g), "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A grant that nobody uses is found in each kind of rule.
func TestLayeringFindsUnusedGrants(t *testing.T) {
	for rule, want := range map[string]string{
		"allow chat: mcp\nallow mcp: chat":                    "deps.txt allows chat to import mcp",
		"allow chat:\nallow mcp: chat\nallow gone:":           "a line for gone, which is no package",
		"allow chat:\nallow mcp: chat\nlibrary x.y: chat # r": "deps.txt allows chat to import x.y",
		"allow chat:\nallow mcp: chat\nlibrary x.z: mcp # r":  "",
		"allow chat:\nallow mcp: chat\nclosure gone: mcp # r": "a closure of deps.txt names gone",
	} {
		r, err := parseRules(rule)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(r.check(graph{"chat": {}, "mcp": {"chat", "x.z/w"}}), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", rule, got, want)
		}
	}
}

func TestParseRulesRefuses(t *testing.T) {
	for _, text := range []string{
		"allow chat", "allow : chat", "allow a: b\nallow a: c", "library x: y", "closure a: b", "permit a: b",
		"outside a:", "outside a: b # r",
	} {
		if _, err := parseRules(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
