//go:build !linux

package host

import (
	"errors"
	"os"
)

// unseen would have a terminal not show what is typed.
func unseen(*os.File) (show func(), err error) {
	return nil, errors.New("what is typed cannot be hidden on this system; set the environment variable of that name")
}
