package fault_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"hone/internal/fault"
)

func TestErrorPrintsWhatIsThere(t *testing.T) {
	cause := errors.New("permission denied")
	for _, c := range []struct {
		err  fault.Error
		want string
	}{
		{fault.Error{What: "cannot read"}, "cannot read"},
		{fault.Error{What: "cannot read", Where: "a.json:3", Why: "no such key", Next: "edit it"},
			"cannot read\n  where: a.json:3\n  why:   no such key\n  next:  edit it"},
		{fault.Error{What: "cannot read", Err: cause}, "cannot read\n  why:   permission denied"},
		{fault.Error{What: "cannot read", Why: "it is locked", Err: cause},
			"cannot read\n  why:   it is locked: permission denied"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestCodeOf(t *testing.T) {
	usage := &fault.Error{Code: fault.CodeUsage, What: "a"}
	for name, c := range map[string]struct {
		err  error
		want fault.Code
	}{
		"none":      {nil, fault.CodeOK},
		"plain":     {errors.New("x"), fault.CodeError},
		"fault":     {usage, fault.CodeUsage},
		"wrapped":   {fmt.Errorf("b: %w", usage), fault.CodeUsage},
		"outermost": {&fault.Error{Code: fault.CodeStopped, What: "b", Err: usage}, fault.CodeStopped},
		"no code":   {&fault.Error{What: "b"}, fault.CodeError},
	} {
		if got := fault.CodeOf(c.err); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestErrorsIsSeesTheCause(t *testing.T) {
	err := fmt.Errorf("outer: %w", &fault.Error{What: "a", Err: fs.ErrNotExist})
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		t.Error("the cause is not reachable")
	}
}
