package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/fault"
)

// What is wrong with a whole file, for errors.Is.
var (
	ErrEncoding = errors.New("the text is not UTF-8")
	ErrParquet  = errors.New("the parquet file is damaged")
	ErrForm     = errors.New("the file is neither JSON nor parquet")
)

// Why a row is refused that could not be read. Those of the formats join them in a report.
const (
	TooLong   = "longer than a row may be"
	NotJSON   = "not JSON"
	NotUTF8   = "not UTF-8"
	Unread    = "parquet: cannot be read"
	Cut       = "JSON that breaks off"
	mostBytes = 64 << 20

	notClosed = "the array is not closed; the file may have been cut, and rows lost"
)

// SourceOptions of Each. The zero value is ready.
type SourceOptions struct {
	MaxBytes int // of one row; a longer one is refused, and never held whole. 0 is 64 MiB
}

// Record is one row, or a stretch of rows that could not be read.
type Record struct {
	File string
	Line int // of the row's first byte, from 1; in parquet the number of the row, from 1
	// how many rows it stands for: 1, more where a stretch of parquet cannot be read, 0 where the file ends without its
	// bracket
	Rows   int
	Split  string // see SplitOf, of the file's name or a folder's
	JSON   []byte // the row, which need not be JSON: see Flaw. The receiver may keep it
	Reason string // why there is none: one of the constants; "" where there is one
	Detail string // more about Reason
}

// Where is the place of a record as errors name it.
func (r Record) Where() string { return fmt.Sprintf("%s:%d", r.File, r.Line) }

// EachRecord yields the rows of the files, in order. A folder stands for the .json, .jsonl and .parquet files in and
// below it, gzipped or not, in the order of their names. It stops with yield's error. Its own are *fault.Error with
// exit code 2: a file that cannot be opened or is of no known form.
func EachRecord(paths []string, o SourceOptions, yield func(Record) error) error {
	if o.MaxBytes == 0 {
		o.MaxBytes = mostBytes
	}
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := eachOf(file, splitOf(path, file), o, yield); err != nil {
				return err
			}
		}
	}
	return nil
}

// extensions are those of files with rows.
func extensions() []string { return []string{".jsonl", ".ndjson", ".json", ".parquet"} }

// filesOf is a file itself, or the files of a folder.
func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot read the conversations", Where: path, Err: err,
			Next: "name a file or a folder; hone collect makes one"}
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	root := strings.TrimRight(path, "/") + "/" // through a link, which WalkDir does not follow by itself
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if strings.HasPrefix(d.Name(), ".") && name != root {
				return fs.SkipDir
			}
		case holdsRows(d.Name()):
			regular := d.Type().IsRegular()
			if d.Type()&fs.ModeSymlink != 0 { // as all files of a snapshot in the cache of Hugging Face
				info, err := os.Stat(name)
				if err != nil {
					return err
				}
				regular = info.Mode().IsRegular()
			}
			if regular {
				files = append(files, filepath.Clean(name))
			}
		}
		return nil
	})
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot read the folder", Where: path, Err: err}
	}
	if len(files) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the folder holds no conversations", Where: path,
			Why: "no file in it ends with " + strings.Join(extensions(), ", "), Next: "name the file itself"}
	}
	return files, nil
}

// Curation ends the name of what was done to the rows of a file: it stands beside them and holds none.
const Curation = ".curation.jsonl"

// holdsRows leaves out what data sets keep beside their rows.
func holdsRows(name string) bool {
	if strings.HasSuffix(name, Curation) {
		return false
	}
	if slices.Contains([]string{"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json",
		"config.json", "catalog.json"}, name) || strings.HasPrefix(name, ".") {
		return false
	}
	return slices.Contains(extensions(), filepath.Ext(strings.TrimSuffix(name, ".gz")))
}

// splitOf is the split that a file's name says, else the nearest folder's: those in and of root, or the one that root
// stands in where it is the file itself. Folders above say nothing of the rows.
func splitOf(root, file string) string {
	above := filepath.Dir(filepath.Clean(root))
	if root == file {
		above = filepath.Dir(above)
	}
	inside, err := filepath.Rel(above, file)
	if err != nil {
		inside = filepath.Base(file)
	}
	names := strings.Split(filepath.ToSlash(inside), "/")
	for _, name := range slices.Backward(names) {
		if split := SplitOf(name); split != "" {
			return split
		}
	}
	return ""
}

// SplitOf is the split that a name such as my_training-00000-of-00002.parquet says: train, validation or test, "" where
// it says none. The words, and that they stand between -, ., _, blanks and digits, are those of Hugging Face
// ("Structure your repository", keywords). A name that says two is held out: it is of test before validation, and of
// validation before train.
func SplitOf(name string) (split string) {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return strings.ContainsRune("-._ 0123456789", r)
	})
	for _, word := range words {
		switch word {
		case "test", "testing", "eval", "evaluation":
			return "test"
		case "validation", "valid", "val", "dev":
			split = "validation"
		case "train", "training":
			split = cmp.Or(split, "train")
		}
	}
	return split
}

func eachOf(path, split string, o SourceOptions, yield func(Record) error) error {
	f, err := os.Open(path)
	if err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot read the conversations", Where: path, Err: err}
	}
	defer f.Close()
	named := func(r Record) error {
		r.File, r.Split, r.Rows = path, split, max(r.Rows, 1)
		if r.Detail == notClosed {
			r.Rows = 0
		}
		return yield(r)
	}
	in := bufio.NewReaderSize(f, 256<<10)
	magic, _ := in.Peek(4)
	if string(magic) == "PAR1" {
		return eachParquet(f, path, o, named)
	}
	if bytes.HasPrefix(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return &fault.Error{Code: fault.CodeUsage, What: "cannot unpack the file", Where: path, Err: err,
				Next: "download it again"}
		}
		defer unpacked.Close()
		in = bufio.NewReaderSize(unpacked, 256<<10)
	}
	if err := refuseForm(in, path); err != nil {
		return err
	}
	return eachJSON(in, path, o, named)
}

// RecodeCommand is the command that makes a file UTF-8, whose text has an encoding of iconv's. A gzipped one is
// unpacked first.
func RecodeCommand(encoding, path string) string {
	iconv := "iconv -f " + encoding + " -t UTF-8"
	if f, err := os.Open(path); err == nil {
		defer f.Close()
		magic := make([]byte, 2)
		if _, err := io.ReadFull(f, magic); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
			return "gzip -dc < " + path + " | " + iconv + " > utf8.jsonl"
		}
	}
	return iconv + " " + path + " > utf8.jsonl"
}

// refuseForm tells by the first bytes what is no JSON, and takes a byte-order mark away.
func refuseForm(in *bufio.Reader, path string) error {
	head, err := in.Peek(512)
	if len(head) == 0 && err != nil && err != io.EOF {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot read the conversations", Where: path, Err: err}
	}
	wrong := func(what, next string, is error) error {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot read the conversations", Where: path, Why: what,
			Err: is, Next: next}
	}
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, err := in.Discard(3)
		return err
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}), len(head) > 3 &&
		(head[0] == 0) != (head[1] == 0):
		return wrong("it is UTF-16", RecodeCommand("UTF-16", path), ErrEncoding)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return wrong("it is packed with zstd", "zstd -d "+path, ErrForm)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return wrong("it is a zip archive", "unzip "+path, ErrForm)
	case bytes.HasPrefix(head, []byte("version https://git-lfs")):
		return wrong("it is a pointer of Git LFS, not the file", "git lfs pull", ErrForm)
	}
	if first := bytes.TrimLeft(head, " \t\r\n"); len(first) > 0 && first[0] != '{' && first[0] != '[' &&
		bytes.IndexByte(first, '{') < 0 {
		return wrong(fmt.Sprintf("it begins with %.20q", first),
			"rows are JSON objects, one a line, or parquet", ErrForm)
	}
	return nil
}
