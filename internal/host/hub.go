package host

import (
	"context"
	"fmt"

	"hone/internal/fault"
	"hone/internal/hub"
)

// Hub is a client of the Hub that the variables of huggingface_hub name. It tells how far a transfer is, and asks
// before a download.
func (h *Host) Hub() (*hub.Client, error) {
	c, err := hub.FromEnv(h.LookupEnv)
	if err != nil {
		return nil, err
	}
	progress := h.Progress(1)
	c.Say = h.Say
	c.Progress = func(done, of int64) { progress("MB", int(done/1e6), max(1, int(of/1e6)), "") }
	c.Agree = func(r hub.Repo, files int, bytes int64) error {
		plan := fmt.Sprintf("download %s of %s (%.1f MB) from %s to %s",
			fault.Count(files, "file"), r, float64(bytes)/1e6, c.Endpoint, c.Cache)
		if h.DryRun {
			h.Say("would %s", plan)
		} else if h.Confirm(plan) {
			return nil
		}
		return &fault.Error{Code: fault.CodeUsage, What: "not downloaded: " + r.String(),
			Next: "hone pull " + r.String() + " --yes"}
	}
	return c, nil
}

// FromHub is the folder of a repository in the Hub's cache, and its commit. What the cache lacks is downloaded, after a
// question; what it has is not asked for again: hone pull does that.
func (h *Host) FromHub(r hub.Repo, want hub.Selection) (dir, commit string, err error) {
	c, err := h.Hub()
	if err != nil {
		return "", "", err
	}
	if dir, commit = c.FromCache(r, want); dir != "" {
		return dir, commit, nil
	}
	ctx := h.Context
	if ctx == nil {
		ctx = context.Background()
	}
	return c.Download(ctx, r, want)
}
