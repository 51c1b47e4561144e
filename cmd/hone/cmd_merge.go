package main

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

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/fault"
	"hone/internal/learn/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/train"
	"hone/internal/modelfile"
)

type mergeFlags struct{ adapter, base, output, dtype string }

func newMerge(a *app) *cobra.Command {
	var f mergeFlags
	c := &cobra.Command{
		Use:   "merge --adapter DIR --output-dir DIR",
		Short: "Write base model and adapter as one model that transformers, vLLM and others load",
		Long: "merge adds an adapter to its base model's weights and writes a folder as transformers does: model.safetensors, in\n" +
			"shards of 5 GB with their index where it is larger, config.json, the tokenizer's files and the chat template.\n" +
			"The folder is there whole or not at all, and never written over.",
		Example: "  hone merge --adapter out/final --output-dir merged --dtype bf16\n  hone merge --adapter out/final --output-dir merged --dry-run",
		Args:    arguments(0, 0, ""),
		RunE:    func(c *cobra.Command, _ []string) error { return runMerge(c.Context(), a, f) },
	}
	c.Flags().StringVar(&f.adapter, "adapter", "", "adapter folder, as a run's final")
	c.Flags().StringVar(&f.base, "base-model", "", "base model: a path, or an installed name (default the one the adapter names)")
	c.Flags().StringVar(&f.output, "output-dir", "", "folder to make")
	c.Flags().StringVar(&f.dtype, "dtype", "", "type of the weights: f32 or bf16 (default as the base model has them; f32 of a GGUF file)")
	return c
}

// merging is what merge prints.
type merging struct {
	Output string `json:"output"`
	Base   string `json:"base"`
	Bytes  int64  `json:"bytes"` // of the weights
	Free   int64  `json:"free"`  // on the disk of Output, before
	// Kept is the share of what the adapter changes that is left in the weights' type; null of a dry run.
	Kept *float64 `json:"kept"`
}

func runMerge(ctx context.Context, a *app, f mergeFlags) error {
	dtype, err := f.check()
	if err != nil {
		return err
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	base, err := baseOf(f.adapter, f.base, c)
	if err != nil {
		return err
	}
	path, err := basemodel.Path(a.Host, base)
	if err != nil {
		return err
	}
	file, err := modelfile.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only
	kept := &model.Kept{}
	m := model.Merged{Model: file, DType: dtype, Kept: kept}
	if m.LoRA, m.Adapter, err = train.LoadAdapter(f.adapter, model.Spec{Config: file.Config}); err != nil {
		return err
	}
	out := merging{Output: f.output, Base: base}
	if out.Bytes, err = m.Size(); err != nil {
		return err
	}
	parent := filepath.Dir(filepath.Clean(f.output))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return f.failed(err)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(parent, &disk); err != nil {
		return f.failed(err)
	}
	out.Free = int64(disk.Bavail) * int64(disk.Bsize)
	a.Say("%s with %s takes %.2f GB of disk; %.2f GB are free", base, f.adapter, float64(out.Bytes)/1e9, float64(out.Free)/1e9)
	if out.Free < out.Bytes+out.Bytes/100 { // and the files beside the weights
		return f.failed(fmt.Errorf("%d bytes are needed, %d are free: %w", out.Bytes, out.Free, syscall.ENOSPC))
	}
	if a.DryRun {
		return nil
	}
	plugin, err := basemodel.TakePlugin(a.Host, c.Engine)
	if err != nil {
		return err
	}
	e, err := engine.Open(engine.Options{Plugin: plugin.Path, Cache: basemodel.ProgramCache(a.Host, c.Engine)})
	if err != nil {
		return err
	}
	defer e.Close()
	tokenizer, err := f.write(ctx, m, e)
	if err != nil {
		return f.failed(err)
	}
	share := kept.Share()
	out.Kept = &share
	a.Say("%s", keptText(kept))
	if !tokenizer {
		a.Say("warning: %s has no tokenizer that could be written: put tokenizer.json and tokenizer_config.json of the original model into %s", base, f.output)
	}
	a.Say("next: hone eval --base-model %s --dataset SCENARIOS", f.output)
	return a.Print(out, [][]string{{out.Output}})
}

// keptText says how much of the adapter is left in the merged weights.
func keptText(k *model.Kept) string {
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
func (f mergeFlags) check() (dtype string, err error) {
	wrong := ""
	types := map[string]string{"": "", "f32": "F32", "bf16": "BF16"}
	dtype, known := types[f.dtype]
	switch {
	case f.adapter == "":
		wrong = "--adapter is missing: name an adapter folder, as a run's final"
	case f.output == "":
		wrong = "--output-dir is missing: name the folder to make"
	case !known:
		wrong = fmt.Sprintf("--dtype %s is not known: give f32 or bf16", f.dtype)
	}
	if wrong != "" {
		return "", &fault.Error{Code: fault.CodeUsage, What: wrong, Next: "hone merge --help"}
	}
	if _, err := os.Lstat(f.output); err == nil {
		return "", &fault.Error{Code: fault.CodeUsage, What: "will not write over what is there", Where: f.output, Next: "name another folder with --output-dir, or remove this one"}
	}
	return dtype, nil
}

// write makes the folder beside its place and moves it there whole.
func (f mergeFlags) write(ctx context.Context, m model.Merged, e *engine.Engine) (tokenizer bool, err error) {
	tmp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(f.output)), "."+filepath.Base(f.output)+".partial-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // gone where all went well
	if tokenizer, err = m.Save(ctx, tmp, e); err != nil {
		return false, err
	}
	if err := basemodel.CopyPrompting(f.adapter, tmp); err != nil {
		return false, err
	}
	if err := syncFolder(tmp); err != nil {
		return false, err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return false, err
	}
	return tokenizer, os.Rename(tmp, f.output)
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

// failed is an error of writing; one that says more stays as it is.
func (f mergeFlags) failed(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	out := &fault.Error{Code: fault.CodeError, What: "cannot write the merged model", Where: f.output, Err: err, Next: "name a folder that can be made with --output-dir"}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		out.Code, out.Next = fault.CodeExhausted, "make room there, name a folder on another disk, or give --dtype bf16"
	}
	if errors.Is(err, context.Canceled) {
		out.Code, out.What, out.Next = fault.CodeStopped, "stopped; nothing was written", "the same command again"
	}
	return out
}
