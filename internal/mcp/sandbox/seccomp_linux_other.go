//go:build linux && !amd64

package sandbox

// metadataCalls change a file's mode, owner, times or attributes.
func metadataCalls() []uint32 { return commonMetadataCalls() }
