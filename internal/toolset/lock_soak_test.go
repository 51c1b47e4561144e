//go:build soak

package toolset

import "testing"

// Three pairs of real processes, each with names of its own.
func TestSoakReliableTwinIsShown(t *testing.T) { twins(t, 3) }

// What TestLocks asks of npm's packages, of pip's.
func TestSoakLocks(t *testing.T) {
	locks(t, installed{
		"pypi:./tiny_server-1.2-py3-none-any.whl", "other", "venv/bin", "venv/lib/python*/site-packages/tiny.py",
		"requirements.lock", "tiny-server==1.2 ", "tiny-server==1.1 ",
	})
}
