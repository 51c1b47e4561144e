package job

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"hone/internal/basemodel"
	"hone/internal/data/curate"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/hub"
)

// PullAsked is what the user asks of hone pull.
type PullAsked struct {
	Name  string
	Kind  string   // of the repository
	Files []string // patterns of path.Match, of paths or names; none: those that hone reads
}

// Pull brings a repository's files into the Hub's cache, up to date, and returns their folder.
func Pull(ctx context.Context, h *host.Host, a PullAsked) (dir, commit string, err error) {
	kind, want := hub.Model, basemodel.ModelFiles()
	switch a.Kind {
	case string(hub.Dataset):
		kind, want = hub.Dataset, DataFiles()
	case string(hub.Model):
	default:
		return "", "", noKind(a.Kind)
	}
	if len(a.Files) > 0 {
		for _, p := range a.Files {
			if _, err := path.Match(p, ""); err != nil {
				return "", "", &fault.Error{Code: fault.CodeUsage, What: "the pattern cannot be read",
					Where: "--file " + p, Err: err, Next: "hone pull --help"}
			}
		}
		want = hub.Selection{Keep: func(file string) bool {
			return slices.ContainsFunc(a.Files, func(p string) bool {
				whole, _ := path.Match(p, file)
				name, _ := path.Match(p, path.Base(file))
				return whole || name
			})
		}}
	}
	repo, ok := hub.Parse(kind, a.Name)
	if !ok {
		return "", "", badName(a.Name)
	}
	c, err := h.Hub()
	if err != nil {
		return "", "", err
	}
	return c.Download(ctx, repo, want)
}

func noKind(kind string) error {
	return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there are no repositories of the kind %q", kind),
		Where: "--kind", Next: "give model or dataset"}
}

func badName(name string) error {
	return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("%q is no repository's name", name),
		Why: "it has the form org/name, or org/name@branch", Next: "hone push --help"}
}

// PushAsked is what the user asks of hone push.
type PushAsked struct {
	Folder, To      string
	Kind            string // of the repository; "" as the folder's files say
	Run             string // whose training the card tells; "" is the folder above, where it is one
	Evaluation      string // whose rates the card has
	Base            string // base model in the card, as the Hub names it; "" where the adapter came of one of the Hub
	License         string
	Message         string
	Private, Mirror bool // of a repository that is made; whether what the folder lacks is removed
}

// Push pushes an adapter, a model or a data set, with a card where the folder has no README.md.
func Push(ctx context.Context, h *host.Host, a PushAsked) (hub.Pushed, error) {
	if a.Kind != string(hub.Dataset) {
		a.Folder = basemodel.AdapterAt(a.Folder)
	}
	kind, err := kindOf(a)
	if err != nil {
		return hub.Pushed{}, err
	}
	repo, ok := hub.Parse(kind, a.To)
	if !ok {
		return hub.Pushed{}, badName(a.To)
	}
	u := hub.Upload{Folder: a.Folder, Message: a.Message, Private: a.Private, Mirror: a.Mirror,
		LeaveOut: curate.IsLedger}
	if u.Message == "" {
		u.Message = "Push with hone"
	}
	if _, err := os.Stat(filepath.Join(a.Folder, "README.md")); err == nil {
		h.Say("the folder's README.md is the card")
	} else if kind == hub.Model {
		m, err := cardOf(a, repo.ID)
		if err != nil {
			return hub.Pushed{}, err
		}
		u.Extra = map[string][]byte{"README.md": m.Markdown()}
	}
	c, err := h.Hub()
	if err != nil {
		return hub.Pushed{}, err
	}
	if h.DryRun {
		h.Say("would push %s to the %s %s", a.Folder, kind, repo)
		return hub.Pushed{}, rehearsePush(ctx, h, c, repo, u)
	}
	return c.Push(ctx, repo, u)
}

// rehearsePush prints what a push would send and remove, and says the card that it would make.
func rehearsePush(ctx context.Context, h *host.Host, c *hub.Client, repo hub.Repo, u hub.Upload) error {
	type file struct {
		Path  string `json:"path"`
		Bytes int64  `json:"bytes"`
	}
	var plan struct {
		Files   []file   `json:"files"`
		Removed []string `json:"removed,omitempty"`
		Card    string   `json:"card,omitempty"` // that is made
	}
	files, removed, err := c.Plan(ctx, repo, u)
	if err != nil {
		return err
	}
	rows := [][]string{{"FILE", "BYTES", "DOES"}}
	for _, f := range files {
		plan.Files = append(plan.Files, file{f.Path, f.Size})
		rows = append(rows, []string{f.Path, strconv.FormatInt(f.Size, 10), "send"})
	}
	for _, path := range removed {
		rows = append(rows, []string{path, "", "remove"})
	}
	plan.Removed, plan.Card = removed, string(u.Extra["README.md"])
	if plan.Card != "" && !h.JSON {
		h.Say("the card, README.md, would be:\n%s", plan.Card)
	}
	return h.Print(plan, rows)
}

// kindOf tells what a folder holds.
func kindOf(a PushAsked) (hub.Kind, error) {
	switch a.Kind {
	case string(hub.Model), string(hub.Dataset):
		return hub.Kind(a.Kind), nil
	case "":
	default:
		return "", noKind(a.Kind)
	}
	for _, name := range []string{"adapter_config.json", "config.json"} {
		if _, err := os.Stat(filepath.Join(a.Folder, name)); err == nil {
			return hub.Model, nil
		}
	}
	if _, err := os.Stat(filepath.Join(a.Folder, "version.json")); err == nil { // with raw traces, a ledger and logs
		return "", &fault.Error{Code: fault.CodeUsage, What: "the folder is a run without an adapter, not a data set",
			Where: a.Folder, Next: "hone curate export " + filepath.Join(a.Folder, "trajectories.jsonl") +
				" --out data/train.jsonl, then hone push data; --kind dataset sends the run as it is"}
	}
	rows := false
	err := filepath.WalkDir(a.Folder, func(file string, e os.DirEntry, err error) error {
		rows = rows || err == nil && !e.IsDir() && filepath.Base(file) != "README.md" && !curate.IsLedger(file) &&
			DataFiles().Keep(filepath.ToSlash(file))
		return err
	})
	if err == nil && rows {
		return hub.Dataset, nil
	}
	return "", &fault.Error{
		Code:  fault.CodeUsage,
		What:  "the folder is neither an adapter, nor a model, nor a data set",
		Where: a.Folder,
		Err:   err,
		Next:  "name a run's final, a folder of hone merge or of hone curate export, or say what it is with --kind",
	}
}
