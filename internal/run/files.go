package run

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"hone/internal/blob"
)

// lines appends JSON lines to a file, each by one write, so that a reader following it sees whole lines.
type lines struct {
	mu sync.Mutex
	f  *os.File
}

func (l *lines) append(row json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Compact(&b, row); err != nil {
		return storageError("cannot append a row that is not JSON", l.f.Name(), err)
	}
	b.WriteByte('\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.f.Write(b.Bytes())
	return storageError("cannot append to the run's file", l.f.Name(), err)
}

func (l *lines) close() error { return l.f.Close() }

// rebuild writes name again from each, by way of a temporary file, and returns it open for appending.
func rebuild(name string, each func(yield func(json.RawMessage) error) error) (*lines, error) {
	tmp := name + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriter(f)
	err = each(func(row json.RawMessage) error {
		var b bytes.Buffer
		if err := json.Compact(&b, row); err != nil {
			return err
		}
		b.WriteByte('\n')
		_, err := w.Write(b.Bytes())
		return err
	})
	if err = errors.Join(err, w.Flush(), f.Sync(), f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, name); err != nil {
		return nil, err
	}
	f, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &lines{f: f}, nil
}

// lineHead is what a line of an export begins with: which row of the ledger it is.
type lineHead struct {
	Row   string `json:"row,omitempty"` // a trajectory's id
	Stage string `json:"stage"`
	Step  int    `json:"step"`
}

func metricLine(stage string, step int, row json.RawMessage) json.RawMessage {
	return lineHead{Stage: stage, Step: step}.before(row)
}

func trajectoryLine(t TrajectoryRow) (json.RawMessage, error) {
	row, err := withScore(t.JSON, t.Score)
	if err != nil {
		return nil, storageError("cannot write the score of a trajectory", t.ID, err)
	}
	return lineHead{Row: t.ID, Stage: t.Stage, Step: t.Step}.before(row), nil
}

// withScore is a trajectory's object with the keys of its score: in the place of its own, or behind them.
func withScore(row, score json.RawMessage) (json.RawMessage, error) {
	if string(score) == ownScore {
		return row, nil
	}
	own, err := members(row)
	if err != nil {
		return nil, err
	}
	more, err := members(score)
	if err != nil {
		return nil, err
	}
	for _, m := range more {
		if i := slices.IndexFunc(own, func(o member) bool { return o.key == m.key }); i >= 0 {
			own[i] = m
		} else {
			own = append(own, m)
		}
	}
	out := []byte{'{'}
	for i, m := range own {
		if i > 0 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(m.key) // a string always encodes
		out = append(append(append(out, key...), ':'), m.value...)
	}
	return append(out, '}'), nil
}

// member is one key of a JSON object.
type member struct {
	key   string
	value json.RawMessage
}

// members are an object's, in its order.
func members(object json.RawMessage) (all []member, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("a row is no object"), err)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: t.(string)} // what else stands before a colon is no JSON
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// before returns a row with the head's keys before its own.
func (h lineHead) before(row json.RawMessage) json.RawMessage {
	head, _ := json.Marshal(h) // strings and an int always encode
	row = bytes.TrimSpace(row)
	if len(row) < 2 || row[0] != '{' { // not an object: keep it as a value
		return append(append(head[:len(head)-1:len(head)-1], `,"value":`...), append(row, '}')...)
	}
	if rest := bytes.TrimSpace(row[1:]); rest[0] != '}' {
		return append(append(head[:len(head)-1:len(head)-1], ','), rest...)
	}
	return head
}

// parseLine takes apart what before put together. ok is false for a line that is not JSON or not made by it.
func parseLine(line []byte) (h lineHead, row json.RawMessage, ok bool) {
	if json.Unmarshal(line, &h) != nil || h.Stage == "" {
		return h, nil, false
	}
	head, _ := json.Marshal(h)
	rest, ok := bytes.CutPrefix(line, head[:len(head)-1])
	if !ok || len(rest) == 0 {
		return h, nil, false
	}
	return h, append([]byte{'{'}, bytes.TrimPrefix(rest, []byte{','})...), true
}

// writeFileSync writes a file that is either whole and on disk under its name, or absent.
func writeFileSync(name string, data []byte) error {
	tmp := name + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, name); err != nil {
		return err
	}
	return blob.Sync(filepath.Dir(name))
}

// ConfigFile is the configuration that a run was begun with.
const ConfigFile = "config.resolved.yaml"

// Around is the run directory that a folder is in: RUN/final, or RUN/checkpoints/NAME/adapter. "" where there is none.
func Around(folder string) string {
	folder, err := filepath.Abs(folder)
	for range 4 {
		if err != nil {
			return ""
		}
		if _, err := os.Stat(filepath.Join(folder, "version.json")); err == nil {
			return folder
		}
		folder = filepath.Dir(folder)
	}
	return ""
}
