//go:build !packed

package written

import "embed"

//go:embed sql folders graphs
var files embed.FS
