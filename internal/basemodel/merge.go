package basemodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/model"
)

// MergeOptions say what is merged, and where to.
type MergeOptions struct {
	Adapter string // folder
	Base    string // "" is the one the adapter names
	Output  string // folder to make
	DType   string // of the weights: f32 or bf16; "" as the base model has them
}

// Merged is what Merge made.
type Merged struct {
	Output string `json:"output"`
	Base   string `json:"base"`
	Bytes  int64  `json:"bytes"` // of the weights
	Free   int64  `json:"free"`  // on the disk of Output, before
	// Kept is the share of what the adapter changes that is left in the weights' type; null of a dry run.
	Kept *float64 `json:"kept"`
}

// Merge adds an adapter to its base model's weights and writes the sum as transformers does. The folder is there whole
// or not at all. What is read, needed and kept is said; of a dry run nothing is written.
func Merge(ctx context.Context, h *host.Host, c config.Config, o MergeOptions) (out Merged, err error) {
	dtype, err := o.check()
	if err != nil {
		return out, err
	}
	if o.Adapter, err = AdapterFolder(h, o.Adapter); err != nil {
		return out, err
	}
	base, err := BaseOf(o.Adapter, o.Base, c)
	if err != nil {
		return out, err
	}
	file, err := openFile(h, base)
	if err != nil {
		return out, err
	}
	defer func() { _ = file.Close() }() // read only
	kept := &model.Kept{}
	m := model.Merged{Model: file, DType: dtype, Kept: kept}
	if m.LoRA, m.Adapter, err = model.LoadPEFT(o.Adapter, model.Spec{Config: file.Config}); err != nil {
		return out, err
	}
	out = Merged{Output: o.Output, Base: base}
	if out.Bytes, err = m.Size(); err != nil {
		return out, err
	}
	parent := filepath.Dir(filepath.Clean(o.Output))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return out, o.wrapError(err)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(parent, &disk); err != nil {
		return out, o.wrapError(err)
	}
	out.Free = int64(disk.Bavail) * int64(disk.Bsize)
	h.Say("%s with %s takes %.2f GB of disk; %.2f GB are free",
		base, o.Adapter, float64(out.Bytes)/1e9, float64(out.Free)/1e9)
	if out.Free < out.Bytes+out.Bytes/100 { // and the files beside the weights
		return out, o.wrapError(fmt.Errorf("%d bytes are needed, %d are free: %w", out.Bytes, out.Free, syscall.ENOSPC))
	}
	if h.DryRun {
		return out, nil
	}
	plugin, err := TakePlugin(h, c.Engine)
	if err != nil {
		return out, err
	}
	e, err := engine.Open(engine.Options{Plugin: plugin.Path, Cache: ProgramCache(h, c.Engine)})
	if err != nil {
		return out, err
	}
	defer e.Close()
	tokenizer, err := o.write(ctx, m, e)
	if err != nil {
		return out, o.wrapError(err)
	}
	share := kept.Share()
	out.Kept = &share
	h.Say("%s", mergeLossText(kept))
	if !tokenizer {
		h.Say("warning: %s has no tokenizer that could be written: put tokenizer.json and tokenizer_config.json of "+
			"the original model into %s", base, o.Output)
	}
	return out, nil
}

// mergeLossText says how much of the adapter is left in the merged weights.
func mergeLossText(k *model.Kept) string {
	names := map[string]string{"F32": "float32", "BF16": "bfloat16", "F16": "float16"}
	var types []string
	for _, t := range k.DTypes {
		types = append(types, cmp.Or(names[t], t))
	}
	percent := math.Floor(k.Share()*1000+0.5) / 10
	text := fmt.Sprintf("%s keeps %.3g%% of what the adapter changes", strings.Join(types, " and "), percent)
	if slices.Contains(k.DTypes, "BF16") {
		text += "; --dtype f32 keeps all"
	}
	return text
}

// check validates the flags and returns the type as safetensors names it.
func (o MergeOptions) check() (dtype string, err error) {
	wrong := ""
	types := map[string]string{"": "", "f32": "F32", "bf16": "BF16"}
	dtype, known := types[o.DType]
	switch {
	case o.Adapter == "":
		wrong = "--adapter is missing: name an adapter folder, as a run's final"
	case o.Output == "":
		wrong = "--output-dir is missing: name the folder to make"
	case !known:
		wrong = fmt.Sprintf("--dtype %s is not known: give f32 or bf16", o.DType)
	}
	if wrong != "" {
		return "", &fault.Error{Code: fault.CodeUsage, What: wrong, Next: "hone merge --help"}
	}
	if _, err := os.Lstat(o.Output); err == nil {
		return "", &fault.Error{Code: fault.CodeUsage, What: "will not write over what is there", Where: o.Output,
			Next: "name another folder with --output-dir, or remove this one"}
	}
	return dtype, nil
}

// write makes the folder beside its place and moves it there whole.
func (o MergeOptions) write(ctx context.Context, m model.Merged, e *engine.Engine) (tokenizer bool, err error) {
	tmp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(o.Output)), "."+filepath.Base(o.Output)+".partial-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // gone where all went well
	if tokenizer, err = m.Save(ctx, tmp, e); err != nil {
		return false, err
	}
	if err := CopyPrompting(o.Adapter, tmp); err != nil {
		return false, err
	}
	if err := syncFolder(tmp); err != nil {
		return false, err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return false, err
	}
	return tokenizer, os.Rename(tmp, o.Output)
}

// syncFolder waits until a folder's files, and their names, are on the disk.
func syncFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	paths := []string{dir}
	for _, e := range entries {
		paths = append(paths, filepath.Join(dir, e.Name()))
	}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// wrapError is an error of writing; one that says more stays as it is.
func (o MergeOptions) wrapError(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	out := &fault.Error{Code: fault.CodeError, What: "cannot write the merged model", Where: o.Output, Err: err,
		Next: "name a folder that can be made with --output-dir"}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		out.Code, out.Next = fault.CodeExhausted, "make room there, name a folder on another disk, or give --dtype bf16"
	}
	if errors.Is(err, context.Canceled) {
		out.Code, out.What, out.Next = fault.CodeStopped, "stopped; nothing was written", "the same command again"
	}
	return out
}
