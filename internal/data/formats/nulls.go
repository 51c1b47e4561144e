package formats

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
)

// withoutNulls leaves out members that are null, at every depth. A data set whose column has one type for all rows fills each row's
// objects with nulls for the members that only other rows have: {"city": "Bern", "a": null, "b": null}. Members of a name in keep
// may be null by themselves. A text without nulls comes back as it is.
func withoutNulls(v jsontext.Value, keep ...string) jsontext.Value {
	if !bytes.Contains(v, []byte("null")) {
		return v
	}
	value, err := chat.Decode(v, chat.DecodeOptions{LastWins: true})
	if err != nil {
		return v
	}
	out, err := chat.AppendJSON(nil, dropped(value, keep), chat.Format{KeepNumbers: true})
	if err != nil {
		return v
	}
	return out
}

func dropped(v chat.Value, keep []string) chat.Value {
	switch v := v.(type) {
	case []chat.Value:
		for i := range v {
			v[i] = dropped(v[i], keep)
		}
	case *chat.Object:
		out := &chat.Object{}
		for i := range v.Len() {
			key, value := v.At(i)
			if value != nil || slices.Contains(keep, key) {
				out.Set(key, dropped(value, keep))
			}
		}
		return out
	}
	return v
}
