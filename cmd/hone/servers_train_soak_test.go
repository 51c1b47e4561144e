//go:build soak && !race

// Left out of -race, as resume_test.go says.

package main

import (
	"path/filepath"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/host"
)

// What a toy does in pure Go, SmolLM2-135M does by the plug-in.
func TestSoakServersByTheRealModel(t *testing.T) {
	t.Run("HTTP", func(t *testing.T) {
		server := everything(t, "t")
		a, stdout, stderr := installed(t, "")
		base := folderOfModel(t, a)
		workFolder(t, map[string]string{"hone.yaml": tiny})
		trainAndEvalOverHTTP(t, server, a, stdout, stderr, base)
	})
	t.Run("files", func(t *testing.T) {
		servers := files(t)
		a, stdout, stderr := installed(t, "")
		base := folderOfModel(t, a)
		workFolder(t, map[string]string{"hone.yaml": tiny})
		filesystemServer(t, servers, a, stdout, stderr, base)
	})
}

// folderOfModel is the folder of the installed base model.
func folderOfModel(t *testing.T, a *app) string {
	t.Helper()
	path, err := basemodel.Path(a.Host, host.BaseModelAsset().Name)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}
