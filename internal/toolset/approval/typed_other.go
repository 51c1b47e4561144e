//go:build !linux

package approval

import "os"

// dropTyped drops nothing here: only the line that a question given up was still waiting for is.
func dropTyped(*os.File) {}
