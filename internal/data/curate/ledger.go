package curate

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"hone/internal/data/dataset"
	"hone/internal/fault"
)

// ledger is a file of JSON lines that only grows: a header, then operations. Each is on the disk before it counts.
type ledger struct {
	path   string
	rows   int      // how many there are
	hashes []string // of the rows, or of the first of them: the first hash is written, any is read
	f      *os.File // nil until it is written to, where there is none
	dry    bool     // write nothing
	still  bool     // opened to be read alone
	torn   error    // why a part of a line is left at the end; nothing may be written behind it
}

// header says what the operations are on.
type header struct {
	Curation int    `json:"curation"` // version of the form
	SHA256   string `json:"sha256"`   // of the rows as hone writes them
	// how many they were: others may have come behind them since. 0 of a ledger that did not say it
	Rows int `json:"rows,omitempty"`
}

// numRowsOf is how many rows the ledger at path was begun on, 0 where there is none or where it does not say it.
func numRowsOf(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }() // read only
	var h header
	if err := json.NewDecoder(f).Decode(&h); err != nil {
		return 0 // reading it says what is wrong
	}
	return h.Rows
}

// IsLedger tells whether a file is a ledger, a copy or a part of one, gzipped or not: by its name, or by how it begins,
// since a ledger may have any name. It holds what was redacted, and is for nobody but who curates.
func IsLedger(file string) bool {
	if strings.HasSuffix(strings.TrimSuffix(file, ".gz"), dataset.Curation) {
		return true
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	in := bufio.NewReader(f)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return false
		}
		in = bufio.NewReader(unpacked)
	}
	for {
		b, err := in.ReadByte()
		switch {
		case err != nil:
			return false
		case b == ' ' || b == '\t' || b == '\r' || b == '\n' || b >= 0x80: // a byte-order mark
			continue
		}
		rest, _ := in.Peek(512)
		begin := string(b) + string(rest)
		return strings.HasPrefix(begin, `{"curation":`) || operationLine.MatchString(begin)
	}
}

// operationLine is how a line of an operation begins.
var operationLine = regexp.MustCompile(`^\{"seq":\d+,.*"do":`)

// hashesOf gives rows their tools and returns the hash of them as they were read and, where that is another one, with
// their tools: that is how it was once taken, and such a ledger is one still. Behind them are those of the first rows,
// so many as a ledger was begun on.
func hashesOf(rows []dataset.Row, first int, tools func(*dataset.Row) error) ([]string, error) {
	read, full := sha256.New(), sha256.New()
	now := func() []string {
		return slices.Compact([]string{hex.EncodeToString(read.Sum(nil)), hex.EncodeToString(full.Sum(nil))})
	}
	var line []byte
	var begun []string
	for i := range rows {
		var err error
		if line, err = rows[i].AppendJSON(line[:0]); err != nil {
			return nil, err
		}
		read.Write(append(line, '\n'))
		shown := rows[i].Shown != nil
		if tools != nil {
			if err := tools(&rows[i]); err != nil {
				return nil, err
			}
			if shown {
				if line, err = rows[i].AppendJSON(line[:0]); err != nil {
					return nil, err
				}
			}
		}
		if full.Write(append(line, '\n')); i+1 == first {
			begun = now()
		}
	}
	return append(now(), begun...), nil
}

func openLedger(path string, rows int, hashes []string, still bool) (*ledger, []Op, error) {
	l := &ledger{path: path, rows: rows, hashes: hashes, still: still}
	flags := os.O_RDWR | os.O_APPEND
	if still {
		flags = os.O_RDONLY
	}
	f, err := os.OpenFile(path, flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil, nil
	}
	if err != nil {
		return nil, nil, &fault.Error{Code: fault.CodeUsage, What: "cannot read the ledger", Where: path, Err: err}
	}
	if l.f = f; !still && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		l.close()
		return nil, nil, &fault.Error{Code: fault.CodeError, What: "another process curates these traces", Where: path,
			Next: "wait until it ends"}
	}
	ops, err := l.read()
	if err != nil {
		l.close()
	}
	return l, ops, err
}

// read takes the ledger in. A last line that is not whole was never said to be written, and is cut off.
func (l *ledger) read() ([]Op, error) {
	data, err := os.ReadFile(l.path)
	if err != nil {
		return nil, err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if whole < len(data) && !l.still { // another process may be writing it
		if err := l.f.Truncate(int64(whole)); err != nil {
			return nil, err
		}
	}
	var ops []Op
	for i, line := range bytes.Split(data[:whole], []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		damaged := func(err error) error {
			return &fault.Error{Code: fault.CodeError, What: "the ledger is damaged",
				Where: fmt.Sprintf("%s:%d", l.path, i+1), Err: err, Next: "restore it, or move it away to begin anew"}
		}
		if i == 0 {
			var h header
			if err := json.Unmarshal(line, &h); err != nil || h.Curation != 1 {
				return nil, damaged(fmt.Errorf("its first line is no header of a curation"))
			}
			if !slices.Contains(l.hashes, h.SHA256) {
				return nil, &fault.Error{Code: fault.CodeUsage, What: "the traces are others than the ledger's",
					Where: l.path, Why: "they have changed since they were curated",
					Next: "restore them, or name another --ledger"}
			}
			continue
		}
		var op Op
		if err := json.Unmarshal(line, &op); err != nil {
			return nil, damaged(err)
		}
		if op.Seq != len(ops)+1 {
			return nil, damaged(fmt.Errorf("operation %d stands where %d should", op.Seq, len(ops)+1))
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// append writes operations behind the others, and a header before the first. They are on the disk when it returns, or
// none is.
func (l *ledger) append(ops []Op) error {
	if l.dry || len(ops) == 0 {
		return nil
	}
	if l.still {
		return &fault.Error{Code: fault.CodeError, What: "the traces were opened to be read alone", Where: l.path}
	}
	if l.torn != nil {
		return &fault.Error{Code: fault.CodeExhausted, What: "the ledger ends in a line that is not whole",
			Where: l.path, Err: l.torn, Next: "make room and start again: the part is cut off then"}
	}
	var text []byte
	if l.f == nil {
		f, err := os.OpenFile(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600) // it holds what was redacted
		if err == nil {
			if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
				err = errors.Join(err, f.Close())
			}
		}
		if err != nil {
			return &fault.Error{Code: fault.CodeError, What: "cannot begin the ledger", Where: l.path, Err: err,
				Next: "the same command again, or another --ledger"}
		}
		l.f = f
	}
	info, err := l.f.Stat()
	if err == nil && info.Size() == 0 {
		text, err = json.Marshal(header{1, l.hashes[0], l.rows})
		text = append(text, '\n')
	}
	for i := range ops {
		var line []byte
		if err == nil {
			line, err = json.Marshal(ops[i])
		}
		text = append(append(text, line...), '\n')
	}
	if err == nil {
		_, err = l.f.Write(text)
	}
	if err == nil {
		err = l.f.Sync()
	}
	if err != nil {
		if info != nil {
			l.torn = l.f.Truncate(info.Size())
		}
		return &fault.Error{Code: fault.CodeExhausted, What: "cannot write the ledger", Where: l.path, Err: err,
			Next: "make room; what was not written is not done"}
	}
	return nil
}

func (l *ledger) close() {
	if l != nil && l.f != nil {
		_ = l.f.Close() // each line is on the disk
	}
}
