// Package written has the texts that tasks are made of. Words are those of programs that are drawn. The rest are
// invented states of databases, folders and graphs, and what people asked of them: tasks that were written one by one,
// in words and of structures that no drawer of programs comes upon. Whoever wrote them saw neither how programs are
// drawn nor any task that hone is measured on.
package written

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
)

// The kinds of states, each a folder of files.
const (
	SQL     = "sql"
	Folders = "folders"
	Graphs  = "graphs"
)

// Read reads all files of a kind, in the order of their names. They are compiled in: one that cannot be read is a fault
// of the build.
func Read[T any](kind string, read func([]byte) (T, error)) (list []T) {
	names, err := fs.ReadDir(files(), kind)
	for _, f := range names {
		var data []byte
		if data, err = fs.ReadFile(files(), path.Join(kind, f.Name())); err != nil {
			break
		}
		one, wrong := read(data)
		if wrong != nil {
			err = fmt.Errorf("%s: %w", f.Name(), wrong)
			break
		}
		list = append(list, one)
	}
	if err != nil {
		panic(err)
	}
	return list
}

// Words adds what a file of words has to a map or a list.
func Words[T any](name string, to *T) {
	data, err := fs.ReadFile(files(), path.Join("words", name+".json"))
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		panic(fmt.Errorf("%s: %w", name, err)) // it is compiled in
	}
}
