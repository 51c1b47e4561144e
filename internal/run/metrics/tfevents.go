package metrics

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// TFEvents keeps one file of events in a folder. A row that comes again has the file written anew under its next name,
// which TensorBoard, also one that is running, takes in the place of the other: so no step is there twice.
type TFEvents struct {
	main   string
	prefix string // path of the file up to its number
	number int
	file   *os.File
	rows   []Row
	place  map[key]int // in rows
	broken bool
	warn   func(error)
}

type key struct {
	stage string
	step  int
}

// OpenTFEvents makes the folder's file of a run that began at a time, with the rows that the run has, and removes those
// of earlier attempts. main is the stage whose tags begin with train/. warn is told, once, what stops it: it takes no
// rows from then on.
func OpenTFEvents(dir, main string, began time.Time, rows []Row, warn func(error)) *TFEvents {
	w := &TFEvents{main: main, prefix: filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%010d.hone.", began.Unix())),
		place: map[key]int{}, warn: warn}
	for _, r := range rows {
		w.keep(r)
	}
	err := os.MkdirAll(dir, 0o700)
	old, globErr := fs.Glob(os.DirFS(dir), "events.out.tfevents.*.hone.*")
	if err == nil {
		err = globErr
	}
	for i, path := range old {
		var n int
		old[i] = filepath.Join(dir, path)
		if _, scanErr := fmt.Sscanf(filepath.Ext(path), ".%d", &n); scanErr == nil {
			w.number = max(w.number, n)
		}
	}
	if err == nil {
		err = w.rewrite(old...)
	}
	w.fail(err)
	return w
}

// keep notes a row and reports whether it is there for the first time.
func (w *TFEvents) keep(r Row) (first bool) {
	k := key{r.Stage, r.Step}
	if at, ok := w.place[k]; ok {
		w.rows[at] = r
		return false
	}
	w.place[k] = len(w.rows)
	w.rows = append(w.rows, r)
	return true
}

// Put implements Sink.
func (w *TFEvents) Put(r Row) {
	if w.broken {
		return
	}
	if !w.keep(r) {
		w.fail(w.rewrite(w.file.Name()))
		return
	}
	_, err := w.file.Write(record(event(r, w.main)))
	w.fail(err)
}

// Close implements Sink.
func (w *TFEvents) Close(Status) {
	if w.file != nil {
		_ = w.file.Close() // each row was written at once
	}
}

func (w *TFEvents) fail(err error) {
	if err != nil && !w.broken {
		w.broken = true
		w.warn(err)
	}
}

// rewrite writes the file anew under the next number, and removes the others.
func (w *TFEvents) rewrite(others ...string) error {
	w.number++
	path := fmt.Sprintf("%s%06d", w.prefix, w.number)
	began := time.Time{}
	if len(w.rows) > 0 {
		began = w.rows[0].At
	}
	text := append(record(openTestEvents(began)), record(restart(began))...)
	for _, r := range w.rows {
		text = append(text, record(event(r, w.main))...)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	if w.file != nil {
		_ = w.file.Close() // its bytes are in the other
	}
	var err error
	if w.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	for _, old := range others {
		if err := os.Remove(old); err != nil {
			return err
		}
	}
	return nil
}

// record is an entry of a TFRecord file: length, its checksum, data, their checksum, all little-endian
// (tensorflow/core/lib/io/record_writer.h).
func record(data []byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	out = binary.LittleEndian.AppendUint32(out, maskedCRC(out))
	out = append(out, data...)
	return binary.LittleEndian.AppendUint32(out, maskedCRC(data))
}

// maskedCRC is the CRC-32C of bytes, rotated and shifted, as records have it (tensorflow/core/lib/hash/crc32c.h).
func maskedCRC(data []byte) uint32 {
	crc := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// Fields of the protocol buffers (tensorflow/core/util/event.proto, core/framework/summary.proto) with their wire
// types.
const (
	eventWallTime    = 1<<3 | 1 // double
	eventStep        = 2 << 3   // int64, of wire type 0
	eventFileVersion = 3<<3 | 2 // string
	eventSummary     = 5<<3 | 2 // message
	eventSessionLog  = 7<<3 | 2 // message
	summaryValue     = 1<<3 | 2 // message
	valueTag         = 1<<3 | 2 // string
	valueSimple      = 2<<3 | 5 // float
	sessionStatus    = 1 << 3   // enum, of wire type 0
	sessionStart     = 1
)

// openTestEvents is the first event of a file.
func openTestEvents(at time.Time) []byte {
	return field(wallTime(at), eventFileVersion, []byte("brain.Event:2"))
}

// restart tells a reader that saw steps from 0 on in another file to forget them.
func restart(at time.Time) []byte {
	return field(wallTime(at), eventSessionLog, []byte{sessionStatus, sessionStart})
}

// event has a scalar for each metric of a row, in the order of their names.
func event(r Row, main string) []byte {
	var summary []byte
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		value := field(nil, valueTag, []byte(Tag(main, r.Stage, name)))
		value = binary.LittleEndian.AppendUint32(append(value, valueSimple), math.Float32bits(float32(r.Values[name])))
		summary = field(summary, summaryValue, value)
	}
	out := binary.AppendUvarint(append(wallTime(r.At), eventStep), uint64(r.Step))
	return field(out, eventSummary, summary)
}

// wallTime begins an event: seconds since 1970.
func wallTime(at time.Time) []byte {
	seconds := 0.0
	if !at.IsZero() {
		seconds = float64(at.UnixMicro()) / 1e6
	}
	return binary.LittleEndian.AppendUint64([]byte{eventWallTime}, math.Float64bits(seconds))
}

// field appends one of variable length.
func field(out []byte, tag byte, data []byte) []byte {
	return append(binary.AppendUvarint(append(out, tag), uint64(len(data))), data...)
}
