package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var began = time.Unix(1_700_000_000, 250_000_000)

// goldenRows are those of testdata/tfevents/golden.json.
func goldenRows(t *testing.T) (rows []Row) {
	t.Helper()
	text, err := os.ReadFile("testdata/tfevents/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Stage   string
		Step    int
		Seconds float64
		Values  map[string]float64
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		rows = append(rows, Row{Stage: r.Stage, Step: r.Step,
			At: began.Add(time.Duration(r.Seconds * float64(time.Second))), Values: r.Values})
	}
	return rows
}

func only(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	return filepath.Join(dir, files[0].Name())
}

// The bytes are those that TensorBoard was seen to read (testdata/tfevents/parity.py).
func TestGolden(t *testing.T) {
	rows, dir := goldenRows(t), t.TempDir()
	w := OpenTFEvents(dir, "grpo", began, rows[:1], func(err error) { t.Error(err) })
	for _, r := range rows[1:] {
		w.Put(r)
	}
	w.Close(Finished)
	got, err := os.ReadFile(only(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/tfevents/golden.tfevents", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/tfevents/golden.tfevents")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes differ from the %d of the golden file; %v", len(got), len(want), err)
	}
}

// However often a run is stopped and goes on before steps that it has taken, the file ends with each of them once, as
// they were last.
func TestStepsThatComeAgain(t *testing.T) {
	rows, dir := goldenRows(t), filepath.Join(t.TempDir(), "[run]") // no pattern
	whole := t.TempDir()
	w := OpenTFEvents(whole, "grpo", began, nil, func(err error) { t.Error(err) })
	for _, r := range rows {
		w.Put(r)
	}
	w.Close(Finished)

	first := OpenTFEvents(dir, "grpo", began, nil, func(err error) { t.Error(err) })
	for _, r := range append(rows[:3:3], rows[0]) {
		r.Values = map[string]float64{"reward": -1}
		first.Put(r)
	}
	first.Close(Stopped)
	torn := only(t, dir)
	text, _ := os.ReadFile(torn)
	if err := os.WriteFile(torn, text[:len(text)-5], 0o600); err != nil { // as a kill leaves it
		t.Fatal(err)
	}
	again := OpenTFEvents(dir, "grpo", began, rows[:2], func(err error) { t.Error(err) }) // what the ledger has
	for _, r := range rows[1:] {
		again.Put(r)
	}
	again.Close(Finished)
	got, _ := os.ReadFile(only(t, dir))
	want, _ := os.ReadFile(only(t, whole))
	if header := 2 * (16 + 9 + 15); !bytes.Contains(got, want[header:]) ||
		bytes.Count(got, []byte("train/loss")) != bytes.Count(want, []byte("train/loss")) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if strings.Compare(only(t, dir), torn) <= 0 {
		t.Errorf("a running TensorBoard would not go on from %s to %s", torn, only(t, dir))
	}
}

// What cannot be written is told once, and the run goes on.
func TestFullDisk(t *testing.T) {
	rows := goldenRows(t)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var told []error
	w := OpenTFEvents(path, "grpo", began, rows, func(err error) { told = append(told, err) })
	w.Put(rows[0])
	w.Put(rows[0])
	w.Close(Finished)
	if len(told) != 1 || errors.Is(told[0], fs.ErrNotExist) {
		t.Errorf("%v", told)
	}
}
