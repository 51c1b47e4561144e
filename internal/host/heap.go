package host

import (
	"context"
	"runtime"
)

// heapFloor is bytes of address space that are never written, so no memory is behind them.
const heapFloor = 64 << 20

// KeepHeapFloor makes the collector run after 64 MB of garbage at the least, until ctx ends. A small heap would have it
// run after each 4 MB, and a message of an MCP server is decoded through a buffer of 32 KB: of the processor time of
// rollouts, a third was collecting.
func KeepHeapFloor(ctx context.Context) {
	floor := make([]byte, heapFloor)
	go func() {
		<-ctx.Done()
		runtime.KeepAlive(floor)
	}()
}
