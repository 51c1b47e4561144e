package bfcl

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// What a line's gold calls are to training, by the least known of them.
const (
	SeenTool     = "seen tool"
	UnseenTool   = "unseen tool" // of a server that was seen, or of one that nobody names
	UnseenServer = "unseen server"
)

// Seen is what training had: its tools by the names that the model was told, each with its server, "" where that is not
// known.
type Seen struct {
	servers map[string]string
}

// ReadSeen reads a catalog, or JSON with one row after another or in a list: scenarios, training rows, trajectories.
// Seen are the tools of a catalog, of "tools" and "gold", and those that are called in "messages". A row may name its
// "server".
func ReadSeen(in io.Reader) (*Seen, error) {
	s := &Seen{servers: map[string]string{}}
	r := bufio.NewReader(in)
	d := json.NewDecoder(r)
	inList := false
	if first, err := firstByte(r); err != nil {
		return nil, err
	} else if first == '[' {
		_, _ = d.Token()
		inList = true
	}
	for row := 1; ; row++ {
		if inList && !d.More() {
			break
		}
		var v seenRow
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("row %d: %w", row, err)
		}
		v.note(s)
	}
	if len(s.servers) == 0 {
		return nil, errors.New("it names no tool")
	}
	return s, nil
}

func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return 0, errors.New("it is empty")
		}
		if err != nil || b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b, errors.Join(err, r.UnreadByte())
		}
	}
}

// seenRow is a catalog, or a row of a file.
type seenRow struct {
	Server  string `json:"server"`
	Servers []struct {
		Name  string     `json:"name"`
		Tools []seenTool `json:"tools"`
	} `json:"servers"`
	Tools    []seenTool     `json:"tools"`
	Gold     []seenGoldCall `json:"gold"`
	Messages []struct {
		ToolCalls []seenTool `json:"tool_calls"`
	} `json:"messages"`
}

type seenTool struct {
	Name      string `json:"name"`
	ModelName string `json:"model_name"` // of a catalog
	Server    string `json:"server"`
	Function  struct {
		Name string `json:"name"`
	} `json:"function"`
}

// seenGoldCall is a scenario's {"name", "arguments"}, or BFCL's {name: {...}}.
type seenGoldCall struct{ name string }

func (g *seenGoldCall) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	if _, ok := members["arguments"]; ok && json.Unmarshal(members["name"], &g.name) == nil {
		return nil
	}
	for _, g.name = range slices.Sorted(maps.Keys(members)) {
		break
	}
	return nil
}

func (r seenRow) note(s *Seen) {
	note := func(name, server string) {
		if name != "" && (server != "" || s.servers[name] == "") {
			s.servers[name] = server
		}
	}
	all := func(tools []seenTool, server string) {
		for _, t := range tools {
			for _, name := range []string{t.Name, t.ModelName, t.Function.Name} {
				note(name, cmp.Or(t.Server, server))
			}
		}
	}
	for _, server := range r.Servers {
		all(server.Tools, server.Name)
	}
	all(r.Tools, r.Server)
	for _, g := range r.Gold {
		note(g.name, r.Server)
	}
	for _, m := range r.Messages {
		all(m.ToolCalls, r.Server)
	}
}

// class is what a line's gold calls are to training, "" where there are none, or nobody says what training had.
func (s *Seen) class(r row) string {
	if s == nil || len(r.names) == 0 {
		return ""
	}
	out := SeenTool
	for _, name := range r.names {
		server, seen := s.servers[name]
		if seen && (server == "" || r.server == "" || server == r.server) {
			continue
		}
		out = UnseenTool
	}
	if out == UnseenTool && r.server != "" && !slices.Contains(slices.Collect(maps.Values(s.servers)), r.server) {
		return UnseenServer
	}
	return out
}
