package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// firstEra is the oldest version that the SDK speaks; draftEra came before it, differs in nothing that hone uses, and
// is what some servers still say.
const (
	firstEra = "2024-11-05"
	draftEra = "2024-10-07"
	// unsaidEra is what a missing version means (2025-06-18, basic/transports, protocol version header).
	unsaidEra = "2025-03-26"
)

var versionDate = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)

// greeting is an answer to initialize or server/discover as the SDK can read it.
type greeting struct {
	members map[string]json.RawMessage
	odd     []string // what of it is not as the protocol has it
	version string   // what the server calls the version it speaks, "" where it says none
}

// readGreeting mends what of an answer the SDK cannot read: none of it is needed but the version. It is nil where there
// is nothing to mend, or no object.
func readGreeting(raw json.RawMessage) *greeting {
	g := &greeting{}
	if json.Unmarshal(raw, &g.members) != nil || g.members == nil {
		return nil
	}
	_, discovered := g.members["supportedVersions"]
	if !discovered {
		g.mendVersion()
	}
	g.mendCapabilities()
	for key, into := range map[string]any{"_meta": &map[string]any{}, "instructions": new(string)} {
		if value, there := g.members[key]; there && json.Unmarshal(value, into) != nil {
			g.drop(key)
		}
	}
	g.mendServerInfo()
	version := textOf(g.members["protocolVersion"])
	if len(g.odd) == 0 &&
		(discovered || version == g.version && slices.Contains(mcp.SupportedProtocolVersions(), version)) {
		return nil
	}
	slices.Sort(g.odd)
	return g
}

// drop leaves a member out.
func (g *greeting) drop(key string) {
	g.note(key, g.members[key])
	delete(g.members, key)
}

func (g *greeting) note(key string, value json.RawMessage) {
	g.odd = append(g.odd, fmt.Sprintf("%s is %s", key, cutName(string(compact(value)))))
}

func (g *greeting) put(key string, value any) {
	g.members[key], _ = json.Marshal(value) // of texts and raw messages
}

func (g *greeting) mendVersion() {
	said := strings.TrimSpace(textOf(g.members["protocolVersion"]))
	date := versionDate.FindString(said)
	switch {
	case said == "" || said == "null":
		g.odd = append(g.odd, "protocolVersion is missing")
		g.put("protocolVersion", unsaidEra)
	case date == draftEra:
		g.version = date
		g.put("protocolVersion", firstEra)
	case said != date && slices.Contains(mcp.SupportedProtocolVersions(), date):
		g.note("protocolVersion", g.members["protocolVersion"])
		g.version = date
		g.put("protocolVersion", date)
	default:
		g.version = said
	}
}

func (g *greeting) mendCapabilities() {
	raw := g.members["capabilities"]
	if json.Unmarshal(raw, &mcp.ServerCapabilities{}) == nil && !absent(raw) {
		return
	}
	var members map[string]json.RawMessage
	if absent(raw) {
		g.odd = append(g.odd, "capabilities are missing")
	} else if json.Unmarshal(raw, &members) != nil {
		g.note("capabilities", raw)
	}
	out := map[string]json.RawMessage{}
	for key, value := range members {
		one, there := mendCapability(key, value)
		if there {
			out[key] = one
		}
		if !bytes.Equal(one, value) {
			g.note("capabilities."+key, value)
		}
	}
	g.put("capabilities", out)
}

// mendCapability is one as an object; there is false where it says that it is none.
func mendCapability(key string, value json.RawMessage) (mended json.RawMessage, there bool) {
	reads := func(v json.RawMessage) bool {
		data, err := json.Marshal(map[string]json.RawMessage{key: v})
		return err == nil && json.Unmarshal(data, &mcp.ServerCapabilities{}) == nil
	}
	if reads(value) {
		return value, true
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		yes, proper := truth(value)
		if list := bytes.HasPrefix(value, []byte("[")); !list && !yes && (proper || !bytes.Equal(value, []byte("{}"))) {
			return nil, false
		}
		return json.RawMessage("{}"), true
	}
	for inner, v := range members {
		if data, err := json.Marshal(map[string]json.RawMessage{inner: v}); err == nil && reads(data) {
			continue
		}
		delete(members, inner)
		if yes, _ := truth(v); yes {
			if reads(json.RawMessage(`{"` + inner + `":true}`)) {
				members[inner] = json.RawMessage("true")
			}
		}
	}
	data, err := json.Marshal(members)
	return data, err == nil
}

func (g *greeting) mendServerInfo() {
	raw, said := g.members["serverInfo"]
	if !said || json.Unmarshal(raw, &mcp.Implementation{}) == nil {
		return
	}
	g.note("serverInfo", raw)
	info := &mcp.Implementation{Name: textOf(raw)}
	if members := objectIn(g.members, "serverInfo"); members != nil {
		info.Name, info.Version = textOf(members["name"]), textOf(members["version"])
	}
	g.put("serverInfo", info)
}

// mendGreeting mends the answer to initialize or server/discover, and reports whether there was something to mend.
func (w *wire) mendGreeting(m *jsonrpc.Response) bool {
	g := readGreeting(m.Result)
	if g == nil {
		return false
	}
	data, err := json.Marshal(g.members)
	if err != nil {
		return false
	}
	m.Result = data
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version, w.oddGreeting = g.version, g.odd
	return true
}

// greeting is what the server calls the version that it speaks, "" where that is the SDK's word for it, and what of its
// answer was not as the protocol has it.
func (w *wire) greeting() (version string, odd []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version, w.oddGreeting
}

// otherVersion is a server's that speaks a version of the protocol that hone does not.
func otherVersion(version string) error {
	known := slices.Sorted(slices.Values(mcp.SupportedProtocolVersions()))
	return mistake{
		fmt.Sprintf("it speaks version %q of the protocol, and hone %s", cutName(version), strings.Join(known, ", ")),
		"take a version of the server that speaks one of them",
	}
}

// ofVersion are the words of a refusal for the version that was asked for.
var ofVersion = regexp.MustCompile(`(?i)\bversion`)

// offeredVersions are the versions to ask for next, the newest first, of a server that refused the one that it was
// asked for: those that it names, in whatever form, or where it names none all that are older.
func offeredVersions(err error) []string {
	var answer *jsonrpc.Error
	var refused refusedError
	if !errors.As(err, &answer) && !errors.As(err, &refused) || !ofVersion.MatchString(err.Error()) {
		return nil
	}
	older := func(version string) bool { return version < legacyEra }
	speaks := append(slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool { return !older(v) }),
		draftEra)
	named := slices.DeleteFunc(versionDate.FindAllString(err.Error(), -1), func(v string) bool {
		return v == legacyEra || v == modernEra
	})
	if len(named) == 0 {
		return speaks[:len(speaks)-1]
	}
	return slices.DeleteFunc(speaks, func(v string) bool { return !slices.Contains(named, v) })
}

// tryLegacy opens a session by initialize: by the newest version that has it, and where the server refuses that one by
// those that it offers.
func (l *opener) tryLegacy(ctx context.Context, via string, from start, first error) (*session, error) {
	limit := l.o.ConnectTimeout
	if first != nil {
		limit = l.legacyLimit(via, first)
	}
	s, err := l.try(ctx, limit, via, legacyEra, from)
	if err == nil {
		return s, nil
	}
	for _, version := range offeredVersions(err) {
		if ctx.Err() != nil {
			break
		}
		if s, again := l.try(ctx, l.o.ConnectTimeout, via, version, from); again == nil {
			return s, nil
		}
	}
	return nil, err
}
