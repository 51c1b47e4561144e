package fault

import (
	"errors"
	"strings"
)

// InnerText is the text of an error that stands inside another one, whose labels "where" and "why" are the other's.
func InnerText(err error) string {
	f, ok := errors.AsType[*Error](err)
	if !ok {
		return err.Error()
	}
	text := f.What
	for _, part := range []string{f.Where, f.Why} {
		if part != "" {
			text += ": " + part
		}
	}
	if f.Err != nil {
		text += ": " + InnerText(f.Err)
	}
	if f.Next != "" {
		text += "; " + f.Next
	}
	return strings.Replace(err.Error(), f.Error(), text, 1)
}
