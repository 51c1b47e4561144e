package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/chat"
)

// sts writes session traces: https://huggingface.co/docs/hub/session-traces-format.
type sts struct {
	dir        string
	files, ids map[string]bool // that are taken
}

func openSTS(_ SinkOptions, dir string) (writer, error) {
	return &sts{dir, map[string]bool{}, map[string]bool{}}, nil
}

func (s *sts) add(r *Row) error {
	name := fileName(r.Name())
	if r.TraceID != "" {
		name = fmt.Sprintf("%s.%d", fileName(r.TraceID), r.Turn)
	}
	base := name
	for n := 2; s.files[strings.ToLower(name)]; n++ { // some file systems take a and A for one name
		name = fmt.Sprintf("%s-%d", base, n)
	}
	s.files[strings.ToLower(name)] = true
	id := r.ID
	for n := 2; id == "" || s.ids[id]; n++ {
		if id = name; s.ids[id] {
			id = fmt.Sprintf("%s-%d", name, n)
		}
	}
	s.ids[id] = true
	dst := chat.AppendString([]byte(`{"type":"session","harness":"hone","id":`), id, false)
	dst = append(chat.AppendString(append(dst, `,"name":`...), shortID(r.Task()), false), ',')
	rest := *r // the format allows more members in the header: by them the trace reads back as it was
	rest.ID = ""
	dst, err := rest.AppendMembers(dst)
	if err != nil {
		return err
	}
	dst = dst[:len(dst)-1] // the last comma
	dst = append(dst, "}\n"...)
	for i := range r.Messages {
		dst = append(appendSTS(dst, &r.Messages[i]), '\n')
	}
	return os.WriteFile(filepath.Join(s.dir, name+".jsonl"), dst, 0o644)
}

func (s *sts) finish(*SinkFiles) error { return nil }

// appendSTS appends a message's line.
func appendSTS(dst []byte, m *chat.Message) []byte {
	dst = chat.AppendString(append(dst, `{"type":"message","message":{"role":`...), m.Role, false)
	dst = chat.AppendString(append(dst, `,"content":`...), m.Content, false)
	if m.ReasoningContent != "" {
		dst = chat.AppendString(append(dst, `,"reasoningContent":`...), m.ReasoningContent, false)
	}
	for i, c := range m.ToolCalls {
		if i == 0 {
			dst = append(dst, `,"toolCalls":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = chat.AppendString(append(dst, `{"id":`...), c.ID, false)
		dst = chat.AppendString(append(dst, `,"function":{"name":`...), c.Name, false)
		dst = append(chat.AppendString(append(dst, `,"arguments":`...), c.Arguments, false), "}}"...)
	}
	if len(m.ToolCalls) > 0 {
		dst = append(dst, ']')
	}
	if m.ToolCallID != "" {
		dst = chat.AppendString(append(dst, `,"toolCallId":`...), m.ToolCallID, false)
	}
	if m.NoLoss { // no member of the format's own, which readers pass over
		dst = append(dst, `,"weight":0`...)
	}
	return append(dst, "}}"...)
}

// fileName is a name that every file system takes.
func fileName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if clean = clean[:min(len(clean), 80)]; clean == "" {
		return "trace"
	}
	return clean
}

func shortID(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > 80 {
		return string(runes[:79]) + "…"
	}
	return string(runes)
}
