package train

import (
	"hone/internal/learn/engine"
)

// store is how the two moments lie on the device.
type store interface {
	name() string
	// params declares what is stored for a vector of n numbers: the first moment's buffers, then the second's.
	params(n int) []engine.Param
	// read and write are graphs: the moments [n], each, of what is stored, and what is to be stored of new ones; where
	// taken is false that is what was stored.
	read(stored []*node, n int) (m, v *node)
	write(taken, m, v *node, stored []*node) []*node
	// upload and download are the same on the host.
	upload(e *engine.Engine, m, v []float32) ([]engine.Buffer, error)
	download(stored []engine.Buffer, n int) (m, v []float32, err error)
}
