package mcp

import (
	"regexp"
	"strings"
	"time"
)

// framing recognises messages that are framed as another protocol has it. Of such a server no message ever comes, so
// without it the host would wait for as long as a download may take.
type framing struct {
	open   bool // a line began an object and did not end it
	indent string
	keys   map[string]bool // at the first indentation of that object
	told   bool
}

// framingGrace is for a server that writes such lines for people, beside its messages.
const framingGrace = time.Second

var (
	lengthHeader = regexp.MustCompile(`^(?i)content-length[ \t]*:[ \t]*\d+$`)
	keyLine      = regexp.MustCompile(`^([ \t]*)"(jsonrpc|id|result|error)"[ \t]*:`)
)

// see returns how the messages are framed that a line, which is none, belongs to; "" where that is not sure.
func (f *framing) see(line []byte) string {
	text := strings.TrimRight(string(line[:min(len(line), 4096)]), " \t\r\n")
	if lengthHeader.MatchString(text) {
		return "with Content-Length headers, as the Language Server Protocol has it"
	}
	if rest, ok := strings.CutPrefix(text, "{"); ok {
		*f = framing{open: true, indent: "\x00", keys: map[string]bool{}, told: f.told}
		if found := keyLine.FindStringSubmatch(rest); found != nil {
			f.keys[found[2]] = true
		}
		return ""
	}
	if strings.HasPrefix(text, "}") {
		f.open = false
	}
	found := keyLine.FindStringSubmatch(text)
	if !f.open || text == "" {
		return ""
	}
	if f.indent == "\x00" {
		f.indent = text[:len(text)-len(strings.TrimLeft(text, " \t"))]
	}
	if found == nil || found[1] != f.indent {
		return ""
	}
	f.keys[found[2]] = true
	if f.keys["jsonrpc"] && (f.keys["result"] || f.keys["error"]) {
		return "over several lines each, as JSON is printed for people"
	}
	return ""
}

// checkFrame looks at a line that is no message. Where it shows that the server frames its messages in another way, and
// none came all the same, the process is ended.
func (c *stdioConn) checkFrame(line []byte) {
	if c.framing.told || c.wire.hasMessage() {
		return
	}
	how := c.framing.see(line)
	if how == "" {
		return
	}
	c.framing.told = true
	time.AfterFunc(framingGrace, func() {
		if c.wire.noteFraming(how) {
			c.p.close()
		}
	})
}

// framingError is a server's that writes messages in a way that MCP does not know.
func framingError(how string) error {
	return mistake{"it writes its messages " + how + "; MCP over stdio wants each on a line of its own",
		"look for an option of the server for MCP or newline-delimited JSON over stdio"}
}
