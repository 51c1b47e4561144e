package generate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"

	"hone/internal/fault"
)

// Ledger keeps what the servers answered, a line for each play, so that nothing is played twice. It may be used from
// many goroutines.
type Ledger struct {
	mu     sync.Mutex
	file   *os.File
	played map[string]*Played
	old    int    // of them read from the file
	aside  string // where a ledger of others went
}

// head is the first line of a ledger: what its plays are of.
type head struct {
	Of string `json:"of"`
}

type entry struct {
	Play string  `json:"play"`
	Got  *Played `json:"got"`
}

// OpenLedger opens the ledger in path for plays of what of names: a hash of tools and servers. One of others is moved
// aside, and a file that is no ledger is refused. A last line that was cut off is not there. One process has a ledger
// at a time.
func OpenLedger(path, of string) (*Ledger, error) {
	l := &Ledger{played: map[string]*Played{}}
	data, err := l.lock(path)
	if err != nil {
		return nil, err
	}
	kept, ours := headOf(data)
	if !ours {
		return nil, errors.Join(&fault.Error{Code: fault.CodeUsage, What: "that file is no ledger of answers",
			Where: path, Next: "name another file with --work, or one that is not there"}, l.Close())
	}
	if kept != "" && kept != of {
		if l.aside, err = moveAside(path); err != nil {
			return nil, errors.Join(unusable(path, err), l.Close())
		}
		if err := l.Close(); err != nil {
			return nil, unusable(path, err)
		}
		if data, err = l.lock(path); err != nil {
			return nil, err
		}
	}
	whole := l.read(data, of)
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

// lock opens the file for this process alone, and reads it.
func (l *Ledger) lock(path string) (data []byte, err error) {
	if l.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil { // answers of servers may be private
		return nil, unusable(path, err)
	}
	if err := syscall.Flock(int(l.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(&fault.Error{Code: fault.CodeError, What: "another process keeps answers in that file",
			Where: path, Err: err, Next: "wait until it ends, or name another file with --work"}, l.Close())
	}
	if data, err = io.ReadAll(l.file); err != nil {
		return nil, errors.Join(unusable(path, err), l.Close())
	}
	return data, nil
}

// headOf is what the plays of a ledger are of; "" where there are none yet. ok is false where it is another kind of
// file.
func headOf(data []byte) (of string, ok bool) {
	line, _, whole := bytes.Cut(data, []byte("\n"))
	if !whole { // nothing, or a head that was cut off
		start := []byte(`{"of":"`)
		n := min(len(line), len(start))
		return "", bytes.Equal(line[:n], start[:n])
	}
	var h head
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err := d.Decode(&h)
	return h.Of, err == nil && h.Of != ""
}

// moveAside gives a file a name that no other has.
func moveAside(path string) (old string, err error) {
	for n := 1; ; n++ {
		if old = path + ".old"; n > 1 {
			old += strconv.Itoa(n)
		}
		if _, err := os.Lstat(old); errors.Is(err, fs.ErrNotExist) {
			return old, os.Rename(path, old)
		} else if err != nil {
			return "", err
		}
	}
}

// Aside is where the ledger of other tools or servers went that was in the place; "" where there was none.
func (l *Ledger) Aside() string { return l.aside }

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
		case whole > 0 && e.Got.Lost == "":
			l.played[e.Play] = e.Got
			l.old++
		}
		whole += len(text)
	}
}

// NumEarlier is how many plays an earlier command left.
func (l *Ledger) NumEarlier() int { return l.old }

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

// remember keeps what a play came to for as long as this command runs.
func (l *Ledger) remember(key string, p *Played) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.played[key] = p
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

// PlaysOf are the plays that a ledger keeps, by their names, also while another process writes it; none where there is
// no ledger.
func PlaysOf(path string) map[string]*Played {
	data, err := os.ReadFile(path)
	of, ours := headOf(data)
	if err != nil || !ours {
		return nil
	}
	l := &Ledger{played: map[string]*Played{}}
	l.read(data, of)
	return l.played
}
