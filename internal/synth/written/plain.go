//go:build !packed

package written

import "embed"

//go:embed words sql folders graphs
var files embed.FS
