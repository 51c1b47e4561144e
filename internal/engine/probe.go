package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"hone/internal/engine/stablehlo"
	"hone/internal/fault"
)

// Library is a plug-in that can be loaded, with the version of its PJRT API.
type Library = stablehlo.Library

// Probe looks at a plug-in without opening a device. Its *fault.Error says what is wrong with the file: it is not
// there, cannot be loaded, is no plug-in, or speaks another version of PJRT.
func Probe(path string) (Library, error) {
	whole, err := filepath.Abs(path) // a name alone would be looked for elsewhere
	if err != nil {
		return Library{}, err
	}
	l, err := stablehlo.Probe(whole)
	if err == nil {
		return l, nil
	}
	f := &fault.Error{Code: fault.CodeExhausted, What: "cannot use the accelerator plug-in", Where: path, Err: err,
		Next: "hone engine install cpu, or name another with engine.plugin; hone doctor looks at it"}
	if info, statErr := os.Stat(whole); statErr != nil || info.IsDir() {
		f.Code = fault.CodeUsage // whoever named it was mistaken
	}
	if errors.Is(err, fs.ErrNotExist) {
		f.What = "the accelerator plug-in is not there"
	}
	return l, f
}

// CanKeepPrograms is an error where programs of these devices cannot be kept on disk. It compiles a small one to find
// out.
func (e *Engine) CanKeepPrograms() error {
	b, ok := e.backend.(*stablehlo.Backend)
	if !ok || e.account != nil {
		return errors.New("there is no plug-in that compiles")
	}
	return b.CanKeep()
}

// Devices names the devices of the engine.
func (e *Engine) Devices() []string {
	if b, ok := e.backend.(*stablehlo.Backend); ok && e.account == nil {
		return b.Devices()
	}
	return nil
}
