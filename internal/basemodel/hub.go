package basemodel

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/hub"
	"hone/internal/learn/modelfile"
	"hone/internal/run"
)

// Path is where a base model is, given by its path, its installed name, or its name on the Hub, org/name or
// org/name@revision, from where it is downloaded if the Hub's cache does not have it. A folder of such a name comes
// first.
func Path(h *host.Host, base string) (string, error) {
	at, _, err := find(h, base)
	return at, err
}

// PinRevision names a base model such that it stays the same one: a model of the Hub with the commit that it is at now.
func PinRevision(h *host.Host, base string) (string, error) {
	_, pinned, err := find(h, base)
	return pinned, err
}

func find(h *host.Host, base string) (at, pinned string, err error) {
	for _, model := range host.ModelAssets() {
		if base == model.Name {
			s, err := h.Store()
			return s.Path(model), base, err
		}
	}
	repo, ok := hub.Parse(hub.Model, base)
	if _, err := os.Stat(base); err == nil || !ok {
		return base, base, instructVariant(base, err)
	}
	at, commit, err := h.FromHub(repo, ModelFiles())
	if err != nil {
		return "", base, notHere(base, err)
	}
	if weights, _ := fs.Glob(os.DirFS(at), "*.safetensors"); len(weights) == 0 {
		return "", base, &fault.Error{Code: fault.CodeUsage, What: "the model has no weights as safetensors",
			Where: base, Next: "fetch a file of another form, hone pull " + base +
				" --file '*.gguf', and give its path to --base-model"}
	}
	repo.Revision = commit
	return at, repo.String(), nil
}

// here is where a base model is on this machine, installed or by its path; ok is false where it would have to be
// downloaded.
func here(h *host.Host, base string) (at string, ok bool) {
	if _, err := os.Stat(base); err == nil {
		return base, true
	}
	for _, model := range host.ModelAssets() {
		if s, err := h.Store(); err == nil && base == model.Name {
			return s.Path(model), s.Has(model)
		}
	}
	return "", false
}

// instructVariant is an error where nothing is at a path that reads as the name of a model that can be installed, with
// or without what it was tuned to.
func instructVariant(base string, missing error) error {
	names := map[string]string{}
	for _, model := range host.ModelAssets() {
		whole := strings.ToLower(model.Name)
		names[whole], names[strings.TrimSuffix(whole, "-instruct")] = model.Name, model.Name
	}
	name := names[fault.Nearest(base, slices.Sorted(maps.Keys(names)))]
	if missing == nil || name == "" {
		return nil // package modelfile says what is wrong with a path
	}
	return &fault.Error{Code: fault.CodeUsage, What: "cannot open the base model", Where: base,
		Why:  "there is no such file or folder, and no such installed name; did you mean " + name + "?",
		Next: "give --base-model " + name}
}

// AdapterAt is the folder of the adapter that a path stands for: a checkpoint (RUN/checkpoints/NAME) for its own, and a
// run that has ended for its final one. Any other path, and "", is returned as it is.
func AdapterAt(path string) string {
	for _, below := range []string{"adapter", "final"} {
		if in := filepath.Join(path, below); path != "" && !isAdapter(path) && isAdapter(in) {
			return in
		}
	}
	return path
}

// AdapterFolder is where an adapter is, given by a path that AdapterAt takes, or by its name on the Hub as Path takes
// it; "" is none. It says which folder it takes where that is another one than was named.
func AdapterFolder(h *host.Host, name string) (string, error) {
	given := name
	if name = AdapterAt(given); name != given {
		h.Say("the adapter of %s is in %s", given, name)
	}
	if err := inRun(name); err != nil {
		return "", err
	}
	repo, ok := hub.Parse(hub.Model, name)
	if _, err := os.Stat(name); err == nil || !ok {
		return name, nil
	}
	dir, _, err := h.FromHub(repo, ModelFiles())
	return dir, notHere(name, err)
}

// inRun is an error where an adapter's path is a run, or leads into one that has no such adapter yet.
func inRun(name string) error {
	dir := filepath.Clean(name)
	if name == "" || isAdapter(dir) {
		return nil
	}
	for depth := 0; !has(dir, "version.json"); depth++ { // RUN/final, RUN/checkpoints/step_0000002
		if dir = filepath.Dir(dir); depth == 2 || dir == filepath.Dir(dir) {
			return nil
		}
	}
	final := filepath.Join(dir, "final")
	f := &fault.Error{Code: fault.CodeUsage, What: "the run has no such adapter", Where: name,
		Next: "hone runs resume " + run.Name(dir) + " goes on with it; its adapter is then " + final}
	if isAdapter(final) {
		f.Next = "name " + final
	} else if pid, err := run.InUse(dir); err == nil && pid != "" {
		f.Why, f.Next = "process "+pid+" is still at it", "wait for that process; its adapter is then "+final
	} else if has(dir, "ledger.db") {
		f.Why = "it has not ended"
	}
	return f
}

func isAdapter(folder string) bool { return has(folder, modelfile.ConfigFile) }

func has(folder, file string) bool {
	_, err := os.Stat(filepath.Join(folder, file))
	return err == nil
}

// notHere adds to an error of the Hub that a path may have been meant.
func notHere(name string, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		f.What = fmt.Sprintf("no file or folder %s is here; as a model of the Hub: %s", name, f.What)
		f.Next = "if a folder was meant, look at its path; else " + f.Next
	}
	return err
}

// ModelFiles are those of a model's repository that hone reads: weights as safetensors, the configuration, the
// tokenizer, the template, and what an adapter has. Weights of other programs are left where they are.
func ModelFiles() hub.Selection {
	return hub.Selection{Keep: isOfModel, Enough: func(paths []string) bool {
		weights := slices.ContainsFunc(paths, func(p string) bool { return strings.HasSuffix(p, ".safetensors") })
		// whose shards may be missing
		return weights && slices.Contains(paths, "config.json") &&
			!slices.Contains(paths, "model.safetensors.index.json")
	}}
}

func isOfModel(file string) bool {
	if strings.HasPrefix(file, modelfile.TemplateFolder+"/") {
		return path.Ext(file) == ".jinja"
	}
	if strings.Contains(file, "/") || strings.HasPrefix(file, "consolidated") { // the same weights in other forms
		return false
	}
	switch path.Ext(file) {
	case ".json", ".safetensors", ".jinja", ".model", ".txt":
		return true
	}
	return file == "README.md" || file == "LICENSE"
}
