//go:build !unix

package modelfile

import "os"

// mapFile reads the file whole where there is no mapping.
func mapFile(path string) ([]byte, error) { return os.ReadFile(path) }

func unmap([]byte) error { return nil }
