package synth

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"

	"hone/internal/fault"
)

// Ledger keeps what the servers answered, a line for each play, so that nothing is played twice. It may be used from many
// goroutines.
type Ledger struct {
	mu     sync.Mutex
	file   *os.File
	played map[string]*Played
	old    int // of them read from the file
}

// head is the first line of a ledger: what its plays are of.
type head struct {
	Of string `json:"of"`
}

type entry struct {
	Play string  `json:"play"`
	Got  *Played `json:"got"`
}

// OpenLedger opens the ledger in path for plays of what of names: a hash of tools and servers. One of others is begun anew.
// A last line that was cut off is not there.
func OpenLedger(path, of string) (*Ledger, error) {
	l := &Ledger{played: map[string]*Played{}}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unusable(path, err)
	}
	whole := l.read(data, of)
	if l.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil { // answers of servers may be private
		return nil, unusable(path, err)
	}
	if err := l.file.Truncate(int64(whole)); err != nil {
		return nil, errors.Join(unusable(path, err), l.file.Close())
	}
	if _, err := l.file.Seek(int64(whole), 0); err != nil {
		return nil, errors.Join(unusable(path, err), l.file.Close())
	}
	if whole == 0 {
		err = l.write(head{of})
	}
	return l, err
}

func unusable(path string, err error) error {
	return &fault.Error{Code: fault.CodeExhausted, What: "cannot keep what the servers answer", Where: path, Err: err,
		Next: "name a file that can be written with --work"}
}

// read takes in the whole lines of a ledger, and returns how many bytes they are.
func (l *Ledger) read(data []byte, of string) (whole int) {
	lines := bufio.NewReader(bytes.NewReader(data))
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return whole
		}
		var e entry
		var h head
		switch {
		case whole == 0 && (json.Unmarshal(text, &h) != nil || h.Of != of):
			return 0
		case whole > 0 && (json.Unmarshal(text, &e) != nil || e.Got == nil):
			return whole
		case whole > 0:
			l.played[e.Play] = e.Got
			l.old++
		}
		whole += len(text)
	}
}

// Kept is how many plays an earlier command left.
func (l *Ledger) Kept() int { return l.old }

// fresh is how many plays were added to those.
func (l *Ledger) fresh() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.played) - l.old
}

func (l *Ledger) get(key string) *Played {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.played[key]
}

func (l *Ledger) put(key string, p *Played) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.played[key] = p
	return l.write(entry{key, p})
}

// write adds a line, in one piece.
func (l *Ledger) write(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	if _, err := l.file.Write(b.Bytes()); err != nil {
		return unusable(l.file.Name(), err)
	}
	return nil
}

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }
