package hone_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxFileLines     = 600
	maxFunctionLines = 80
)

// isCommand is whether a file is of a command, which may read the environment: cmd/hone, benchmarks/cmd/hone-bench.
func isCommand(name string) bool {
	return strings.HasPrefix(name, "cmd/") || strings.Contains(name, "/cmd/")
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

func TestFileSizes(t *testing.T) {
	var lines []int
	for name, src := range goFiles(t) {
		if isTest(name) {
			continue
		}
		n := bytes.Count(src, []byte("\n"))
		lines = append(lines, n)
		if n > maxFileLines {
			t.Errorf("%s has %d lines, more than %d: a reader holds one file in mind; split it where the words change",
				name, n, maxFileLines)
		}
	}
	slices.Sort(lines)
	t.Logf("%d files: median %d lines (aim 150), p90 %d (aim 400), longest %d",
		len(lines), lines[len(lines)/2], lines[len(lines)*9/10], lines[len(lines)-1])
}

// maxCommandLines is what flags and printing take, in lines of 120 columns. What a verb does is a room's, where it can
// be tested without a command line.
const maxCommandLines = 3400

func TestCommandIsFlagsAndPrinting(t *testing.T) {
	lines := 0
	for name, src := range goFiles(t) {
		if strings.HasPrefix(name, "cmd/hone/") && !isTest(name) {
			lines += bytes.Count(src, []byte("\n"))
		}
	}
	if lines == 0 || lines > maxCommandLines {
		t.Errorf("cmd/hone has %d lines, more than %d: move what a verb does into a room under internal/",
			lines, maxCommandLines)
	}
	t.Logf("cmd/hone has %d lines", lines)
}

// importKind is whose package is imported: this module's, a library's, which has a host's name in its path, or the
// standard library's.
func importKind(i *ast.ImportSpec) string {
	first, _, _ := strings.Cut(strings.Trim(i.Path.Value, `"`), "/")
	switch {
	case first == "hone":
		return "module"
	case strings.Contains(first, "."):
		return "library"
	}
	return "standard"
}

// breaches returns what one file does against the rules of the house.
func breaches(name string, src []byte) ([]string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, 0)
	if err != nil {
		return nil, err
	}
	var out []string
	at := func(n ast.Node, format string, args ...any) {
		out = append(out, fset.Position(n.Pos()).String()+": "+fmt.Sprintf(format, args...))
	}
	for i, line := 1, fset.Position; i < len(f.Imports); i++ {
		a, b := f.Imports[i-1], f.Imports[i]
		if line(b.Pos()).Line == line(a.Pos()).Line+1 && importKind(a) != importKind(b) {
			at(b, "import of %s: the standard library, libraries and this module stand apart", b.Path.Value)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if long := fset.Position(n.End()).Line - fset.Position(n.Pos()).Line + 1; long > maxFunctionLines &&
				!isTest(name) {
				at(n, "%s has %d lines, more than %d: name its parts", n.Name.Name, long, maxFunctionLines)
			}
			if n.Name.Name == "init" && n.Recv == nil {
				at(n, "func init: what runs before main cannot be ordered, configured or tested; call it from cmd/hone")
			}
		case *ast.CallExpr:
			f, isSelector := n.Fun.(*ast.SelectorExpr)
			if !isSelector || f.Sel.Name != "Glob" || isTest(name) {
				break
			}
			x, isPackage := f.X.(*ast.Ident)
			if _, written := n.Args[0].(*ast.BasicLit); isPackage && x.Name == "filepath" && !written {
				at(n, "filepath.Glob: the name of a folder may have brackets, and is then no pattern; "+
					"fs.Glob of os.DirFS(folder) matches below it")
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			reads := n.Sel.Name == "Getenv" || n.Sel.Name == "LookupEnv" || n.Sel.Name == "Environ" ||
				n.Sel.Name == "ExpandEnv"
			if ok && x.Name == "os" && reads && !isCommand(name) && !isTest(name) {
				at(n, "os.%s: settings come in through options, so that a test sees all of them; read it in cmd/hone",
					n.Sel.Name)
			}
			if isTest(name) || strings.HasPrefix(name, "internal/testing/") ||
				!strings.HasPrefix(name, "internal/") && !strings.HasPrefix(name, "cmd/") {
				break
			}
			stream := ok && x.Name == "os" && (n.Sel.Name == "Stdout" || n.Sel.Name == "Stderr")
			print := ok && x.Name == "fmt" && strings.HasPrefix(n.Sel.Name, "Print")
			if stream && name != "cmd/hone/main.go" || print {
				at(n, "%s: what is printed goes through host.Data or host.Talk, "+
					"for a terminal obeys what servers wrote", n.Sel.Name)
			}
		}
		return true
	})
	return out, nil
}

func TestSources(t *testing.T) {
	for name, src := range goFiles(t) {
		found, err := breaches(name, src)
		if err != nil {
			t.Error(err)
		}
		for _, b := range found {
			t.Error(b)
		}
	}
}

func TestSourcesFindsPlantedBreaches(t *testing.T) {
	long := "package p\nfunc f() {\n" + strings.Repeat("\tg()\n", maxFunctionLines) + "}\n"
	for _, tc := range []struct{ name, file, src, want string }{
		{"sound", "internal/p/p.go", "package p\nfunc f() {}\n", ""},
		{"imports in groups", "internal/p/p.go", "package p\nimport (\n\t\"os\"\n\n\t\"a.org/b\"\n\n\t\"hone/internal/q\"\n)\n", ""},
		{"imports mixed", "internal/p/p_test.go", "package p\nimport (\n\t\"errors\"\n\t\"hone/internal/q\"\n" +
			"\t\"os\"\n)\n", `p_test.go:4:2: import of "hone/internal/q"`},
		{"library mixed", "internal/p/p.go", "package p\nimport (\n\t\"a.org/b\"\n\t\"hone/internal/q\"\n)\n", `import of "hone/internal/q"`},
		{"long function", "internal/p/p.go", long, "internal/p/p.go:2:1: f has 82 lines"},
		{"long test", "internal/p/p_test.go", long, ""},
		{"init", "internal/p/p.go", "package p\nfunc init() {}\n", "func init"},
		{"method called init", "internal/p/p.go", "package p\nfunc (t T) init() {}\n", ""},
		{"environment", "internal/p/p.go", "package p\nvar x = os.Getenv(\"X\")\n", "os.Getenv"},
		{"its own way to the terminal", "cmd/hone/x.go", "package main\nvar x = fmt.Fprint(os.Stderr, y)\n", "host.Data or host.Talk"},
		{"standard stream", "internal/p/p.go", "package p\nvar x = os.Stdout\n", "host.Data or host.Talk"},
		{"a folder as a pattern", "internal/p/p.go", "package p\nvar x, _ = filepath.Glob(folder + \"/*\")\n", "filepath.Glob"},
		{"a pattern that is written out", "internal/p/p.go", "package p\nvar x, _ = filepath.Glob(\"/usr/lib/*\")\n", ""},
		{"prints", "internal/p/p.go", "package p\nfunc f() { fmt.Println(x) }\n", "host.Data or host.Talk"},
		{"prints in a test", "internal/p/p_test.go", "package p\nfunc f() { fmt.Println(x) }\n", ""},
		{"environment in the command", "cmd/hone/main.go", "package main\nvar x = os.Getenv(\"X\")\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, err := breaches(tc.file, []byte(tc.src))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(found, "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// maxRowColumns is how wide a row of a table in a test may be, which is read down its columns; others take
// maxLineRunes.
const maxRowColumns = 160

func columns(line string) int { return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t") }

// canSplit is whether a string literal can be written as two.
func canSplit(literal string) bool {
	return literal[0] == '"' && (strings.ContainsAny(literal, " ,|") || strings.Contains(literal, `\n`))
}

// linesTooWide returns the lines of a file that are too wide and could be narrower. It leaves alone what stands in
// literals and comments of several lines; a literal that cannot be written as two and fits on no line, or stands where
// gofmt breaks none; words of comments that are as wide; tables and code in comments; and directives.
func linesTooWide(name string, src []byte) (out []string) {
	lines := strings.Split(string(src), "\n")
	free := make([]bool, len(lines))
	first := make([]string, len(lines)) // the tokens that a line begins with
	fset := token.NewFileSet()
	file := fset.AddFile(name, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	last := token.ILLEGAL
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		p := file.Position(pos)
		at, line := p.Line-1, lines[p.Line-1]
		first[at] += tok.String()
		indent := columns(line) - columns(strings.TrimLeft(line, "\t"))
		for end := at + strings.Count(text, "\n"); at < end && tok != token.SEMICOLON; end-- {
			free[at], free[end] = true, true
		}
		switch tok {
		case token.STRING:
			isKey := strings.HasPrefix(strings.TrimSpace(line), text+":")
			if canSplit(text) && !isKey {
				break
			}
			stays := slices.Contains([]token.Token{
				token.ASSIGN, token.DEFINE, token.COLON, // gofmt breaks no line behind these
				token.IDENT, token.RBRACK, token.RBRACE, // of a field, whose tag it is
			}, last) && columns(line[:p.Column-1]+text) > maxLineRunes
			tooWide := indent+4+columns(text+",") > maxLineRunes
			free[at] = free[at] || (stays || isKey || tooWide) && columns(unpad(line))-columns(text) <= maxLineRunes
		case token.COMMENT:
			for word := range strings.FieldsSeq(text) {
				free[at] = free[at] || indent+columns("// "+word) > maxLineRunes
			}
			free[at] = free[at] || regexp.MustCompile(`^//(\t|  |[a-z]+:)|  `).MatchString(text)
		}
		last = tok
	}
	row := regexp.MustCompile(`^(\{|(STRING|INT|CHAR):)`)
	for i, line := range lines {
		most := maxLineRunes
		if isTest(name) && row.MatchString(first[i]) && strings.HasSuffix(line, ",") {
			most, line = maxRowColumns, unpad(line)
		}
		if columns(line) > most && !free[i] {
			out = append(out, fmt.Sprintf("%s:%d: %d columns, more than %d", name, i+1, columns(line), most))
		}
	}
	return out
}

// unpad is a line without the spaces by which gofmt sets values under each other.
func unpad(line string) string { return regexp.MustCompile(` {2,}`).ReplaceAllString(line, " ") }

func TestLinesFit(t *testing.T) {
	for name, src := range goFiles(t) {
		for _, line := range linesTooWide(name, src) {
			t.Error(line)
		}
	}
}

func TestLinesFitFindsPlantedBreaches(t *testing.T) {
	word := strings.Repeat("x", 125)
	words := strings.Repeat("word ", 25)
	sum := "\tx = " + strings.Repeat("a + ", 30) + "a\n"
	for _, tc := range []struct {
		name, file, body string
		wide             int
	}{
		{"sound", "p.go", "\tx = 1\n", 0},
		{"code", "p.go", sum, 1},
		{"tabs", "p.go", strings.Repeat("\t", 30) + "x = 1\n", 1},
		{"a comment", "p.go", "\t// " + words + "\n", 1},
		{"a comment behind code", "p.go", "\tx = 1 // " + words + "\n", 1},
		{"a text", "p.go", "\tx = \"" + words + "\"\n", 1},
		{"a word", "p.go", "\tx = \"" + word + "\"\n", 0},
		{"a word behind long code", "p.go", sum[:len(sum)-1] + "+ \"" + word + "\"\n", 1},
		{"a raw text that would fit below", "p.go", "\tx = " + strings.Repeat("a + ", 20) + "`" + word[:60] + "`\n", 1},
		{"a raw text", "p.go", "\tx = `" + words + "`\n", 0},
		{"a text of several lines", "p.go", "\tx = `\n" + words + "\n" + words + "`\n", 0},
		{"a path in a comment", "p.go", "\t// " + word + "\n", 0},
		{"code in a comment", "p.go", "\t//\tgo " + words + "\n", 0},
		{"a row", "p.go", "\t{" + strings.Repeat("a, ", 40) + "},\n", 1},
		{"a row of a test", "p_test.go", "\t{" + strings.Repeat("a, ", 40) + "},\n", 0},
		{"a row with a name", "p_test.go", "\t\"name\": {" + strings.Repeat("a, ", 38) + "},\n", 0},
		{"a long row of a test", "p_test.go", "\t{" + strings.Repeat("a, ", 60) + "},\n", 1},
		{"a test", "p_test.go", sum, 1},
	} {
		if got := linesTooWide(tc.file, []byte("package p\n\nfunc f() {\n"+tc.body+"}\n")); len(got) != tc.wide {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

// lockBreaches returns the entries of an npm lock file that name a host, or have no hash.
func lockBreaches(src []byte) ([]string, error) {
	var lock struct {
		Packages map[string]struct {
			Resolved, Integrity string
			Link                bool
		}
	}
	if err := json.Unmarshal(src, &lock); err != nil {
		return nil, err
	}
	var out []string
	for name, p := range lock.Packages {
		if regexp.MustCompile(`^[a-z+]+:`).MatchString(p.Resolved) {
			out = append(out, name+": resolved names a host; npm install --omit-lockfile-registry-resolved leaves it "+
				"to the user's settings")
		}
		if name != "" && !p.Link && p.Integrity == "" {
			out = append(out, name+": no integrity hash, so what is installed is not pinned")
		}
	}
	return out, nil
}

func TestLockFiles(t *testing.T) {
	locks := files(t, func(name string) bool { return name == "package-lock.json" })
	if len(locks) == 0 {
		t.Fatal("no lock file found: demo/package-lock.json pins the demo's server")
	}
	for name, src := range locks {
		found, err := lockBreaches(src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, b := range found {
			t.Errorf("%s: %s", name, b)
		}
	}
}

func TestLockFilesFindsPlantedHost(t *testing.T) {
	for src, want := range map[string]int{
		`{"packages": {"": {}, "node_modules/a": {"integrity": "sha512-x"}}}`:                                       0,
		`{"packages": {"node_modules/a": {"integrity": "sha512-x", "resolved": "https://packages.example/a.tgz"}}}`: 1,
		`{"packages": {"node_modules/a": {}}}`:                                                                      1,
	} {
		if found, err := lockBreaches([]byte(src)); err != nil || len(found) != want {
			t.Errorf("%s: %v, %v", src, found, err)
		}
	}
}
