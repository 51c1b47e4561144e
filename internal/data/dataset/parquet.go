package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"

	"hone/internal/fault"
)

// mostFooter bounds what a parquet file says about itself.
const mostFooter = 256 << 20

// sourceRows is how many rows are read at once.
const sourceRows = 16

func damageError(path, why string, err error) error {
	if err == nil {
		err = ErrParquet
	} else {
		err = fmt.Errorf("%w: %w", ErrParquet, err)
	}
	return &fault.Error{Code: fault.CodeUsage, What: "cannot read the parquet file", Where: path, Why: why, Err: err,
		Next: "download or write it again"}
}

// guard runs f; the library panics on some damage that it does not look for.
func guard(f func() error) (err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("%v", why)
		}
	}()
	return f()
}

// eachParquet yields the rows of a parquet file. A row group that cannot be read to its end is refused from there on,
// and the next one is read.
func eachParquet(f *os.File, path string, o SourceOptions, yield func(Record) error) error {
	info, err := f.Stat()
	if err != nil {
		return damageError(path, "", err)
	}
	if err := footerFits(f, info.Size()); err != nil {
		return damageError(path, "", err)
	}
	var file *parquet.File
	err = guard(func() (err error) {
		file, err = parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		return err
	})
	if err != nil {
		return damageError(path, "", err)
	}
	row := 1
	for _, group := range file.RowGroups() {
		n := group.NumRows()
		if n < 0 || n > info.Size()*1000 { // not even the densest encoding holds as many
			return damageError(path, fmt.Sprintf("a row group says that it has %d rows", n), nil)
		}
		read, err := eachOfGroup(file.Root(), group, row, o, yield)
		var stop *stopped
		if errors.As(err, &stop) {
			return stop.err
		}
		if err != nil && int64(read) < n {
			if err := yield(Record{Line: row + read, Rows: int(n) - read, Reason: Unread,
				Detail: err.Error()}); err != nil {
				return err
			}
		}
		row += int(n)
	}
	return nil
}

// footerFits looks at the length of the footer before anybody makes room for it.
func footerFits(f io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < 12 {
		return errors.New("it ends early")
	}
	if _, err := f.ReadAt(tail[:], size-8); err != nil {
		return err
	}
	if string(tail[4:]) != "PAR1" {
		return errors.New("it ends early: the last four bytes are not PAR1")
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:4])); n > size-12 || n > mostFooter {
		return fmt.Errorf("its footer of %d bytes does not fit into it", n)
	}
	return nil
}

// stopped carries an error of yield past those of reading.
type stopped struct{ err error }

func (s *stopped) Error() string { return s.err.Error() }

// eachOfGroup yields the rows of a group and says how many. first is the number of the first.
func eachOfGroup(
	root *parquet.Column, group parquet.RowGroup, first int, o SourceOptions, yield func(Record) error,
) (read int, err error) {
	err = guard(func() error {
		rows := group.Rows()
		defer rows.Close()
		buffer := make([]parquet.Row, sourceRows)
		leaves := countLeaves(root)
		for {
			n, err := rows.ReadRows(buffer)
			for _, row := range buffer[:n] {
				r := Record{Line: first + read}
				r.JSON, r.Reason, r.Detail = rowJSON(root, leaves, row, o.MaxBytes)
				read++
				if err := yield(r); err != nil {
					return &stopped{err}
				}
			}
			if err == io.EOF && int64(read) < group.NumRows() {
				return errors.New("it has fewer rows than it says")
			} else if err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			if n == 0 {
				return errors.New("reading gives no rows")
			}
		}
	})
	return read, err
}
