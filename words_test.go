package hone_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// twins returns the pairs of files of one folder whose names a reader would take for each other: value.go and
// values.go, decode.go and decoder.go.
func twins(names []string) (out []string) {
	for _, name := range names {
		stem := strings.TrimSuffix(name, ".go")
		for _, ending := range []string{"s", "r", "d", "er", "rs", "ers", "ing"} {
			if other := stem + ending + ".go"; slices.Contains(names, other) {
				out = append(out, name+" and "+path.Base(other))
			}
		}
	}
	return out
}

func TestFileNamesAreToldApart(t *testing.T) {
	var names []string
	for name := range goFiles(t) {
		if !isTest(name) && !strings.HasPrefix(name, "cmd/hone/cmd_") { // these are named by their verbs
			names = append(names, name)
		}
	}
	for _, pair := range twins(names) {
		t.Errorf("%s: say in the name what each holds", pair)
	}
	planted := []string{"a/value.go", "a/values.go", "a/decode.go", "a/decoders.go", "a/code.go", "b/valued.go",
		"b/value_test.go", "a/decision.go"}
	if found := twins(planted); len(found) != 2 {
		t.Errorf("planted twins: %q", found)
	}
}

// helpsTests are folders that stand there for tests alone.
func helpsTests(name string) bool {
	return strings.HasPrefix(name, "internal/testing/") || strings.Contains(name, "/testdata/") ||
		strings.HasPrefix(name, "testdata/")
}

// onlyTested returns the exported functions, types and variables below internal that nothing names but tests. It goes
// by the names: of two packages with the same one, what is used of either counts for both.
func onlyTested(files map[string][]byte) (out []string, err error) {
	declared, used := map[string]string{}, map[string]bool{} // by package and name
	for name, src := range files {
		if isTest(name) || helpsTests(name) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		pkg := path.Base(path.Dir(name)) + "."
		own := map[*ast.Ident]bool{}
		for _, id := range declarations(f) {
			own[id] = true
			if id.IsExported() && strings.HasPrefix(name, "internal/") {
				declared[pkg+id.Name] = name
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil { // a type is not used by having methods
					ast.Inspect(n.Recv, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok {
							own[id] = true
						}
						return true
					})
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok {
					used[x.Name+"."+n.Sel.Name] = true
				}
				own[n.Sel] = true
			case *ast.Ident:
				if !own[n] {
					used[pkg+n.Name] = true
				}
			}
			return true
		})
	}
	for name, file := range declared {
		if !used[name] {
			out = append(out, file+": "+name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// declarations are the names of a file's functions, types and variables.
func declarations(f *ast.File) (ids []*ast.Ident) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
			ids = append(ids, fn.Name)
		}
		general, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range general.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				ids = append(ids, s.Name)
			case *ast.ValueSpec:
				if general.Tok == token.VAR {
					ids = append(ids, s.Names...)
				}
			}
		}
	}
	return ids
}

func TestWhatIsExportedIsUsed(t *testing.T) {
	found, err := onlyTested(goFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Errorf("%s is used by tests alone, or by nothing: let them have it in a test file, "+
			"or in a package that helps tests", f)
	}
	planted, err := onlyTested(map[string][]byte{
		"internal/a/a.go":                  []byte("package a\nfunc Used() {}\nfunc Tested() {}\ntype Named int\nfunc (Named) Method() {}\nvar X, Y int\nconst C = 1\n"),
		"internal/a/a_test.go":             []byte("package a\nvar _ = Tested\n"),
		"internal/b/b.go":                  []byte("package b\nfunc f() { a.Used(); a.X = 1; b.Tested = b.Y }\n"),
		"internal/testing/atest/helper.go": []byte("package atest\nfunc Help() {}\n"),
	})
	if want := []string{"internal/a/a.go: a.Named", "internal/a/a.go: a.Tested", "internal/a/a.go: a.Y"}; err != nil ||
		!slices.Equal(planted, want) {
		t.Errorf("planted: %q, want %q, %v", planted, want, err)
	}
}
