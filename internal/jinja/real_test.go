package jinja

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"hone/internal/chat"
)

var reference = flag.String("reference", "",
	"folder of the real templates that make_template.py fetched; the test of them fails without it if this is set")

const goldenDir = "../../testdata/reference/template"

// templatesDir is the folder of the real templates. Without one the test is skipped: make parity gives it, so that what
// lies in somebody's cache decides nothing.
func templatesDir(tb testing.TB) string {
	tb.Helper()
	if *reference == "" {
		tb.Skip("needs the vendors' templates, which testdata/reference/make_template.py fetches: " +
			"give their folder with -reference")
	}
	return *reference
}

type conversation struct {
	name   string
	values Values
}

// readJSON reads a golden file with our own decoder, so that numbers and the order of keys are those of the file.
func readJSON(tb testing.TB, name string) *chat.Object {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(goldenDir, name))
	if err != nil {
		tb.Fatal(err)
	}
	v, err := chat.Decode(data, chat.DecodeOptions{})
	if err != nil {
		tb.Fatal(name, err)
	}
	return v.(*chat.Object)
}

func member[T any](o *chat.Object, key string) T {
	v, _ := o.Get(key)
	typed, _ := v.(T)
	return typed
}

func readNow(tb testing.TB, o *chat.Object) time.Time {
	tb.Helper()
	now, err := time.Parse("2006-01-02T15:04:05.999999", member[string](o, "now"))
	if err != nil {
		tb.Fatal(err)
	}
	return now
}

func conversations(tb testing.TB) []conversation {
	tb.Helper()
	file := readJSON(tb, "conversations.json")
	now := readNow(tb, file)
	var all []conversation
	for _, c := range member[[]chat.Value](file, "conversations") {
		c := c.(*chat.Object)
		all = append(all,
			conversation{member[string](c, "name"), Values{Variables: member[*chat.Object](c, "variables"), Now: now}})
	}
	return all
}

// result is what the golden files hold of one rendering.
type result struct {
	SHA256 string   `json:"sha256"`
	Spans  [][2]int `json:"spans"`
	Error  string   `json:"error"`
}

// fold makes a result of what Compile or Render returned.
func fold(text string, spans []Span, err error) result {
	var e *Error
	if errors.As(err, &e) {
		return result{Error: string(e.Class)}
	}
	sum := sha256.Sum256([]byte(text))
	r := result{SHA256: hex.EncodeToString(sum[:16])}
	for _, s := range spans {
		r.Spans = append(r.Spans, [2]int{s.Start, s.End})
	}
	return r
}

func (r result) equal(other result) bool {
	return r.SHA256 == other.SHA256 && r.Error == other.Error && slices.Equal(r.Spans, other.Spans)
}

// ownTemplate stands in the repository, beside the golden file.
const ownTemplate = "agent.jinja"

type golden struct {
	SHA256  string
	Results []result
}

func goldens(tb testing.TB) map[string]golden {
	tb.Helper()
	all := map[string]golden{}
	data, err := os.ReadFile(filepath.Join(goldenDir, "real_golden.json"))
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// compare renders all conversations and returns how many results differ from the golden ones.
func compare(t *testing.T, file, name string, want golden, inputs []conversation) int {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return len(inputs)
	}
	if sum := sha256.Sum256(source); hex.EncodeToString(sum[:]) != want.SHA256 || len(want.Results) != len(inputs) {
		t.Errorf("%s or the conversations are not what the golden file was made from", name)
		return len(inputs)
	}
	compiled, compileErr := Compile(name, string(source))
	wrong := 0
	for i, c := range inputs {
		var text string
		var spans []Span
		err := compileErr
		if err == nil {
			text, spans, err = compiled.Render(c.values)
		}
		if got := fold(text, spans, err); !got.equal(want.Results[i]) {
			wrong++
			t.Errorf("%s, conversation %q: got %v, want %v\n%v", name, c.name, got, want.Results[i], err)
		}
	}
	return wrong
}

func TestOwnTemplateRendersAsInTransformers(t *testing.T) {
	compare(t, filepath.Join(goldenDir, ownTemplate), ownTemplate, goldens(t)[ownTemplate], conversations(t))
}

func TestRealTemplatesRenderAsInTransformers(t *testing.T) {
	dir := templatesDir(t)
	all, inputs := goldens(t), conversations(t)
	delete(all, ownTemplate)
	if len(all) < 30 || len(inputs) < 12 {
		t.Fatalf("the golden files hold too little: %d templates, %d conversations", len(all), len(inputs))
	}
	wrong := 0
	for name, want := range all {
		wrong += compare(t, filepath.Join(dir, name), name, want, inputs)
	}
	t.Logf("%d of %d renders of %d templates are equal", len(all)*len(inputs)-wrong, len(all)*len(inputs), len(all))
}

// BenchmarkRender renders 40 tools and 30 messages; testdata/reference/time_template.py takes jinja2's time. The
// folder of -reference adds the vendors' templates.
func BenchmarkRender(b *testing.B) {
	files := []string{filepath.Join(goldenDir, ownTemplate)}
	if *reference != "" {
		more, err := filepath.Glob(filepath.Join(*reference, "*", "*.jinja"))
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, more...)
	}
	var agent conversation
	for _, c := range conversations(b) {
		if c.name == "agent" {
			agent = c
		}
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		compiled, err := Compile(file, string(source))
		if err != nil {
			continue // jinja2 refuses some of the vendors' too
		}
		b.Run(filepath.Base(file), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := compiled.Render(agent.values); err != nil {
					b.Skip(err)
				}
			}
		})
	}
}

func TestRenderIsSafeForConcurrentUse(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(goldenDir, ownTemplate))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := Compile(ownTemplate, string(source))
	if err != nil {
		t.Fatal(err)
	}
	want, inputs := goldens(t)[ownTemplate].Results, conversations(t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i, c := range inputs {
				if got := fold(compiled.Render(c.values)); !got.equal(want[i]) {
					t.Errorf("%s: got %v, want %v", c.name, got, want[i])
				}
			}
		})
	}
	wait.Wait()
}
