//go:build !packed

package written

import (
	"embed"
	"io/fs"
)

//go:embed words sql folders graphs
var embedded embed.FS

func files() fs.FS { return embedded }
