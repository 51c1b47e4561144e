package dataset

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hone/internal/fault"
)

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read tells records as "line text" or "line !reason".
func read(t testing.TB, o SourceOptions, paths ...string) ([]string, error) {
	t.Helper()
	var out []string
	err := EachRecord(paths, o, func(r Record) error {
		switch {
		case r.Reason == "" && func() bool { reason, _ := Flaw(r.JSON); return reason != "" }():
			reason, _ := Flaw(r.JSON)
			out = append(out, fmt.Sprintf("%d !%s", r.Line, reason))
		case r.Reason != "":
			out = append(out, fmt.Sprintf("%d !%s", r.Line, r.Reason))
		default:
			out = append(out, fmt.Sprintf("%d %s", r.Line, r.JSON))
		}
		return nil
	})
	return out, err
}

func zipped(t testing.TB, text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestForms(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"a.jsonl", "{\"a\":1}\r\n\n {\"a\":2}", []string{`1 {"a":1}`, `3 {"a":2}`}},
		{"a.jsonl", "\xef\xbb\xbf{\"a\":1}\n{\"a\"\n[1]\n\xff\n", []string{`1 {"a":1}`, "2 !" + Cut, "3 [1]", "4 !" + NotUTF8}},
		{"a.json", "{\"a\":1}\n{\"a\":2}\n", []string{`1 {"a":1}`, `2 {"a":2}`}},
		{"a.json", "{\n \"a\": [1,\n \"}\\\"{\"]\n}\n{\"b\":\n2}", []string{"1 {\n \"a\": [1,\n \"}\\\"{\"]\n}", "5 {\"b\":\n2}"}},
		{"a.json", "[{\"a\":1},\n {\"a\":2}\n, {\"a\":3}]\n", []string{`1 {"a":1}`, `2 {"a":2}`, `3 {"a":3}`}},
		{"a.json", "[{\"a\":1},\n {\"a\":2", []string{`1 {"a":1}`, "2 !" + Cut}},
		{"a.json", "[{\"a\":1},\n {\"a\":2},", []string{`1 {"a":1}`, `2 {"a":2}`, "2 !" + Cut}},
		{"a.json", "[{\"a\":1}, {\"a\" 1}, {\"a\":3}] x", []string{`1 {"a":1}`, "1 !" + NotJSON, `1 {"a":3}`, "1 !" + NotJSON}},
		{"a.json", "[]", nil},
		{"a.json", "[[1],[2]]", []string{"1 [1]", "1 [2]"}},
		{"a.jsonl", "[1]\n[2]\n", []string{"1 [1]", "2 [2]"}},
		{"a.jsonl", "", nil},
		{"a.json", "{\n\"a\": \"unfinished", []string{"1 !" + Cut}},
	} {
		for _, name := range []string{tc.name, tc.name + ".gz"} {
			data := []byte(tc.text)
			if strings.HasSuffix(name, ".gz") {
				data = zipped(t, tc.text)
			}
			if got, err := read(t, SourceOptions{}, write(t, name, data)); err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("%s %q:\n got  %q (%v)\n want %q", name, tc.text, got, err, tc.want)
			}
		}
	}
}

func TestFilesThatAreNoRows(t *testing.T) {
	for _, tc := range []struct {
		data []byte
		is   error
		next string
	}{
		{[]byte("\xff\xfe{\x00\"\x00"), ErrEncoding, "iconv"}, {[]byte("{\x00\"\x00a\x00"), ErrEncoding, "iconv"},
		{[]byte("\x28\xb5\x2f\xfd...."), ErrForm, "zstd"},
		{zipped(t, "\xff\xfe{\x00\"\x00"), ErrEncoding, "gzip -dc < "},
		{zipped(t, "{\x00\"\x00a\x00"), ErrEncoding, "a.jsonl | iconv -f UTF-16 -t UTF-8 > utf8.jsonl"},
		{[]byte("PK\x03\x04...."), ErrForm, "unzip"},
		{[]byte("version https://git-lfs.github.com/spec/v1\n"), ErrForm, "git lfs pull"},
		{[]byte("a,b\n1,2\n"), ErrForm, "parquet"}, {[]byte("PAR1"), ErrParquet, "again"},
		{[]byte("PAR1xxxxxxxxxxxxPAR2"), ErrParquet, "again"},
		{[]byte("PAR1xxxxxxxx\xff\xff\xff\x7fPAR1"), ErrParquet, "again"},
		{[]byte("PAR1xxxxxxxx\x04\x00\x00\x00PAR1"), ErrParquet, "again"},
	} {
		_, err := read(t, SourceOptions{}, write(t, "a.jsonl", tc.data))
		var f *fault.Error
		if !errors.Is(err, tc.is) || !errors.As(err, &f) || f.Code != fault.CodeUsage ||
			!strings.Contains(f.Next, tc.next) {
			t.Errorf("%q: %v", tc.data, err)
		}
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"data/train-00001-of-00002.jsonl": "{\"a\":2}", "data/train-00000-of-00002.jsonl": "{\"a\":1}",
		"data/validation-00000-of-00001.jsonl": "{\"a\":3}", "README.md": "no", "dataset_info.json": "{}",
		".cache/x.json": "{}",
		"test.json.gz":  string(zipped(t, "[{\"a\":4}]")),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	if err := EachRecord([]string{dir}, SourceOptions{}, func(r Record) error {
		got = append(got, string(r.JSON)+r.Split)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{`{"a":1}train`, `{"a":2}train`, `{"a":3}validation`, `{"a":4}test`}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := read(t, SourceOptions{}, t.TempDir()); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("an empty folder: %v", err)
	}
}

// Splits are told as Hugging Face's documentation says, by words in the names of files and folders.
func TestSplitOf(t *testing.T) {
	for _, tc := range []struct{ root, file, want string }{
		{"d", "d/train-00000-of-00002.parquet", "train"}, {"d", "d/training.jsonl", "train"},
		{"d", "d/my_train_file_00.jsonl", "train"}, {"d", "d/val.jsonl", "validation"},
		{"d", "d/dev.jsonl", "validation"}, {"d", "d/x-valid-1.jsonl", "validation"},
		{"d", "d/validation.json.gz", "validation"}, {"d", "d/eval.jsonl", "test"}, {"d", "d/evaluation.jsonl", "test"},
		{"d", "d/testing.jsonl", "test"}, {"d", "d/Test1.jsonl", "test"}, {"d", "d/data.test.jsonl", "test"},
		{"d", "d/test/0000.parquet", "test"}, {"d", "d/test_set/a/0000.parquet", "test"},
		{"d", "d/test/train.jsonl", "train"}, {"d/test", "d/test/0.jsonl", "test"},
		{"d/test/0.jsonl", "d/test/0.jsonl", "test"}, {"d", "d/train_test.jsonl", "test"}, {"d", "d/latest.jsonl", ""},
		{"d", "d/contest/trainer.jsonl", ""}, {"/x/dev/d", "/x/dev/d/x.jsonl", ""},
		{"/test/d/x.jsonl", "/test/d/x.jsonl", ""}, {"x.jsonl", "x.jsonl", ""},
		{".", "test.jsonl", "test"},
	} {
		if got := splitOf(tc.root, tc.file); got != tc.want {
			t.Errorf("%s of %s: %q, want %q", tc.file, tc.root, got, tc.want)
		}
	}
}

// zeros is a text of one long line that nobody wrote down.
type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), z.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	z.left -= n
	return n, nil
}

// A row of 100 MiB costs no more memory than a row may have, in lines and in an array alike, and the rows around it are
// read.
func TestLongRow(t *testing.T) { longRow(t, 100<<20, 1<<20, 32<<20) }

// longRow reads a row of long bytes where most may be held, and less than bound may be allocated.
func longRow(t *testing.T, long, most int, bound uint64) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	for _, form := range []struct{ name, front, back string }{
		{"a.jsonl", "{\"a\":1}\n{\"a\":\"", "\"}\n{\"a\":3}\n"},
		{"a.json", "[{\"a\":1},\n{\"a\":\"", "\"},\n{\"a\":3}]"},
	} {
		path := filepath.Join(t.TempDir(), form.name+".gz") // which packs it into 1 MB
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, _ := gzip.NewWriterLevel(f, gzip.BestSpeed)
		if _, err := io.Copy(w,
			io.MultiReader(strings.NewReader(form.front), &zeros{long}, strings.NewReader(form.back))); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := read(t, SourceOptions{MaxBytes: most}, path)
		runtime.ReadMemStats(&after)
		if want := []string{`1 {"a":1}`, "2 !" + TooLong, `3 {"a":3}`}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", form.name, got, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > bound {
			t.Errorf("%s: %d MiB were allocated", form.name, used>>20)
		}
	}
}

type flat struct {
	Text  string            `parquet:"text"`
	Maybe *string           `parquet:"maybe,optional"`
	List  []string          `parquet:"list,list"`
	Deep  []inner           `parquet:"deep,list"`
	Bare  []int32           `parquet:"bare"`
	Map   map[string]string `parquet:"map"`
	F     float64           `parquet:"f"`
	B     bool              `parquet:"b"`
}

type inner struct {
	N    int64    `parquet:"n,optional"`
	More []string `parquet:"more,list,optional"`
}

func parquetOf(t testing.TB, rows []flat, groups int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[flat](&b, parquet.MaxRowsPerRowGroup(int64(max(1, len(rows)/groups))))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestParquet(t *testing.T) {
	said := "s"
	data := parquetOf(t, []flat{
		{Text: "é\"", Maybe: &said, List: []string{"a", "b"}, Deep: []inner{{1, []string{"x"}}, {2, nil}},
			Bare: []int32{1, 2}, Map: map[string]string{"k": "v"}, F: 1.5, B: true},
		{Text: ""},
		{Text: "z", List: []string{""}, Deep: []inner{{N: 3}}, F: -0.25},
	}, 1)
	got, err := read(t, SourceOptions{}, write(t, "a.parquet", data))
	want := []string{
		`1 {"text":"é\"","maybe":"s","list":["a","b"],"deep":[{"n":1,"more":["x"]},{"n":2}],"bare":[1,2],"map":{"k":"v"},"f":1.5,"b":true}`,
		`2 {"text":"","list":[],"deep":[],"bare":[],"map":{},"f":0,"b":false}`,
		`3 {"text":"z","list":[""],"deep":[{"n":3}],"bare":[],"map":{},"f":-0.25,"b":false}`,
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n got  %s\n want %s", err, strings.Join(got, "\n      "), strings.Join(want, "\n      "))
	}
	if got, err := read(t, SourceOptions{MaxBytes: 3}, write(t, "a.parquet", data)); err != nil ||
		got[0] != "1 !"+TooLong || !strings.HasPrefix(got[1], "2 {") {
		t.Errorf("%q, %v", got, err)
	}
}

// Whatever byte of a parquet file is wrong, its rows are read or refused, and as many as it says it has, or the file is
// refused.
func TestDamagedParquet(t *testing.T) {
	rows := make([]flat, 64)
	for i := range rows {
		rows[i] = flat{Text: strings.Repeat("row ", 20) + fmt.Sprint(i), List: []string{"a"}}
	}
	sound := parquetOf(t, rows, 4)
	r := rand.New(rand.NewPCG(1, 2))
	refused, partly := 0, 0
	for i := range 400 {
		data := bytes.Clone(sound)
		switch i % 4 {
		case 0:
			data = data[:r.IntN(len(data))]
		case 1: // in the pages
			data[4+r.IntN(len(data)/3)] ^= byte(1 + r.IntN(255))
		default:
			data[r.IntN(len(data))] ^= byte(1 + r.IntN(255))
		}
		n, lost := 0, 0
		err := EachRecord([]string{write(t, "a.parquet", data)}, SourceOptions{}, func(r Record) error {
			if n += r.Rows; r.Reason != "" {
				lost += r.Rows
			}
			return nil
		})
		if err != nil {
			if fault.CodeOf(err) != fault.CodeUsage {
				t.Fatalf("damage %d: %v", i, err)
			}
			refused++
		} else if lost > 0 && n > 0 {
			partly++
		}
	}
	if refused < 100 || partly < 10 {
		t.Errorf("of 400 damaged files %d were refused and %d read in part: the test no longer damages them",
			refused, partly)
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{"[{\"a\":1},{", "{\"a\":1}\n{", "{\n}", "\xef\xbb\xbf[", "[1 2,,]", "{\"\\"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"a.jsonl", "a.json"} {
			last := 0
			err := EachRecord([]string{write(t, name, data)}, SourceOptions{MaxBytes: 64}, func(r Record) error {
				if r.Line < last || r.Line < 1 || (r.Rows != 1) != (r.Detail == notClosed) || len(r.JSON) > 64 ||
					(r.Reason == "") == (r.JSON == nil) {
					t.Fatalf("%+v behind line %d", r, last)
				}
				last = r.Line
				return nil
			})
			if err != nil && fault.CodeOf(err) != fault.CodeUsage {
				t.Fatal(err)
			}
		}
	})
}
