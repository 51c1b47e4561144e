package host

import (
	"os"
	"path/filepath"
)

// UnlinkFolder names the working folder without links, for this process and for those that it starts. A sandbox shows
// a server real folders alone, while the name that a shell gives in PWD may lead over a link.
func UnlinkFolder() {
	dir, err := os.Getwd()
	if err != nil {
		return // whoever needs the folder says so
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		_ = os.Setenv("PWD", real) // os.Getwd takes it from there
	}
}
