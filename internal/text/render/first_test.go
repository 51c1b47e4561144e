package render

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
)

// No template is asked for a conversation of no messages: what begins one is shown, and neither prompted for nor
// trained.
func TestNoMessagesAreNotRendered(t *testing.T) {
	guard := func(o *VendorOptions) {
		o.Template = "{%- if not messages %}{{ raise_exception('no messages') }}{% endif %}" + o.Template
	}
	hi, q, a := chat.Message{Role: chat.Assistant, Content: "hello"}, chat.Message{Role: chat.User, Content: "Rain?"},
		chat.Message{Role: chat.Assistant, Content: "Dry."}
	for _, path := range ownTemplates() {
		v := newVendor(t, path, guard)
		rows, err := v.Sequences([]chat.Message{hi, q, a}, 0, nil)
		if err != nil || len(rows) != 1 {
			t.Errorf("%s: %d rows, %v", path, len(rows), err)
			continue
		}
		var trained []int32
		for i, id := range rows[0].IDs {
			if rows[0].Trained[i] {
				trained = append(trained, id)
			}
		}
		whole, said := v.tok.Decode(rows[0].IDs), v.tok.Decode(trained)
		if !strings.Contains(whole, "hello") || strings.Contains(said, "hello") || !strings.Contains(said, "Dry.") {
			t.Errorf("%s: trained is %q of %q", path, said, whole)
		}
		prompt, err := v.Prompt([]chat.Message{hi, q}, nil)
		if err != nil || len(prompt) > len(rows[0].IDs) || !slices.Equal(prompt, rows[0].IDs[:len(prompt)]) {
			t.Errorf("%s: prompted %q, trained behind %q, %v", path, v.tok.Decode(prompt), whole, err)
		}
		if _, err := v.Sequences([]chat.Message{hi}, 0, nil); err == nil ||
			!strings.Contains(err.Error(), "no assistant message to train on") {
			t.Errorf("%s: a greeting alone: %v", path, err)
		}
	}
	v := newVendor(t, filepath.Join(referenceDir, "template", "agent.jinja"), func(o *VendorOptions) {
		guard(o)
		o.System = "S"
	})
	rows, err := v.Sequences([]chat.Message{hi}, 0, nil) // behind a system message there is a prompt
	if err != nil || len(rows) != 1 || !strings.Contains(v.tok.Decode(rows[0].IDs), "hello") {
		t.Errorf("%v, %v", rows, err)
	}
}
