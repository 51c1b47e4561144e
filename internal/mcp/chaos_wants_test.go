package mcp

// wanted is what a case has to come to; text is a part of what it has to say.
type wanted struct {
	discovered, first, then, text string
	short                         bool // it waits for what never comes, so short deadlines do
}

// What a sound server comes to, and three ways to fail: before there are tools, in one call, and for good.
var (
	two  = "2 tools, 0 quarantined, 0 warnings"
	fine = wanted{two, "ok", "ok", "hello|||3|", false}
)

func unopened(text string) wanted { return wanted{discovered: "connect environment_error", text: text} }
func unlisted(text string) wanted { return wanted{discovered: "list environment_error", text: text} }
func hanging(w wanted) wanted     { w.short = true; return w }

// oneCall is a call that fails, after which the session is as good as before.
func oneCall(status, text string) wanted { return wanted{two, status, "ok", text, false} }

// lastCall is a call that takes the session with it.
func lastCall(text string) wanted { return wanted{two, lostCall, lostCall, text, false} }

const (
	lostCall = "transport_error environment_error"
	timedOut = "timeout environment_error"
	toolsErr = "tool_error"
)

// chaosWants is told by behaviour, behaviour/transport or behaviour/transport/era; what is not in it ends like "sound".
var chaosWants = map[string]wanted{
	"sound": fine,

	"open-hangs":                        hanging(unopened("no answer in")),
	"open-crashes":                      unopened("EOF"),
	"open-crashes/stdio":                unopened("exit status 7; stderr: chaos: crashing"),
	"open-garbage":                      hanging(unopened("Segmentation fault (core dumped)")),
	"open-garbage/stdio":                hanging(unopened("no answer in")),
	"open-partial":                      unopened(""),
	"open-error":                        unopened("licence expired"),
	"open-null":                         unopened(""),
	"open-unknown-version":              unopened("initialize"),
	"open-unknown-version/stdio/legacy": unopened(`unsupported protocol version: "1999-01-01"`),
	"open-unknown-version/http/legacy":  unopened(`unsupported protocol version: "1999-01-01"`),
	"open-huge":                         unopened("larger than 1048576 bytes"),
	"open-then-crash":                   unlisted("EOF"),
	"start-crashes":                     unopened("exit status 4; stderr: no such database"),
	"start-hangs":                       hanging(unopened("no answer in 800ms; in the newest protocol: no answer in 700ms")),
	"open-401":                          unopened(`HTTP 401 Unauthorized: "refused by the gateway"`),
	"open-403":                          unopened(`HTTP 403 Forbidden: "refused by the gateway"`),
	"open-404":                          unopened("as HTTP+SSE: "),
	"open-500":                          unopened(`HTTP 500 Internal Server Error: "refused by the gateway"`),

	"list-hangs":           hanging(unlisted("no answer in 6s")),
	"list-crashes":         unlisted("EOF"),
	"list-crashes/stdio":   unlisted("exit status 7"),
	"list-garbage":         hanging(unlisted("<html>busy</html>")),
	"list-error":           unlisted("catalog is being rebuilt"),
	"list-no-array":        unlisted(`received "{`),
	"list-null":            {"0 tools, 0 quarantined, 0 warnings", "invalid", "invalid", "unknown tool", false},
	"list-huge":            unlisted("larger than 1048576 bytes"),
	"list-deep":            unlisted("cannot be decoded"),
	"list-endless":         {"102 tools, 0 quarantined, 1 warnings", "ok", "ok", "hello", false},
	"list-same-cursor":     {"2 tools, 0 quarantined, 1 warnings", "ok", "ok", "hello", false},
	"list-empty-cursor":    {"3 tools, 0 quarantined, 0 warnings", "ok", "ok", "hello", false},
	"list-cursor-number":   {"2 tools, 0 quarantined, 1 warnings", "ok", "ok", "hello", false},
	"list-boolean-schemas": {"2 tools, 1 quarantined, 0 warnings", "ok", "ok", "hello", false},
	"list-malformed-tools": {"2 tools, 6 quarantined, 0 warnings", "ok", "ok", "hello", false},

	"call-hangs":                    oneCall(timedOut, "no answer within"),
	"call-crashes":                  oneCall(lostCall, "EOF"),
	"call-crashes/stdio":            lastCall("exit status 7; stderr: chaos: crashing"),
	"call-garbage/stdio":            oneCall(timedOut, `in its place came a line that is no message: "Traceback`),
	"call-garbage/http":             oneCall(lostCall, `no JSON-RPC response: "Traceback`),
	"call-partial/stdio":            lastCall("exit status 7"),
	"call-partial/http":             oneCall(lostCall, "broke off"),
	"call-partial-then-hangs":       oneCall(timedOut, ""),
	"call-partial-then-hangs/stdio": oneCall(timedOut, "without a newline at the end: \"{"),
	"call-huge":                     oneCall(toolsErr, "larger than 1048576 bytes"),
	"call-huge-id-last":             oneCall(toolsErr, "larger than 1048576 bytes"),
	"call-huge-event":               oneCall(toolsErr, "larger than 1048576 bytes"),
	"call-deep":                     oneCall(toolsErr, "cannot be decoded"),
	"call-wrong-id/stdio":           oneCall(timedOut, "in its place came an answer under the id 9"),
	"call-wrong-id/http":            oneCall(lostCall, "to another request"),
	"call-string-id/stdio":          oneCall(timedOut, `in its place came an answer under the id "`),
	"call-string-id/http":           oneCall(lostCall, "to another request"),
	"call-null-id/stdio":            oneCall(timedOut, `\"id\":null`),
	"call-null-id/http":             oneCall(lostCall, "no JSON-RPC response"),
	"call-late":                     oneCall(timedOut, ""),
	"call-null":                     oneCall(lostCall, `cannot be read: it is "null"`),
	"call-array":                    {two, "ok", "ok", "[]||the result does not follow the protocol: the result is no object", false},
	"call-empty":                    {two, "ok", "ok", "", false},
	"call-both":                     oneCall(toolsErr, "and an error"),
	"call-unknown-content":          oneCall(lostCall, "hologram"),
	"call-content-text":             {two, "ok", "ok", "hello||the result does not follow the protocol: the content is no list", false},
	"call-is-error":                 oneCall(toolsErr, "disk full"),
	"call-rpc-error":                oneCall(toolsErr, "no such table"),
	"call-binary": {two, "ok", "ok", "[image image/png, 3 bytes]\n[audio audio/wav, 2 bytes]\n" +
		"[resource file:///a: a]\n[resource file:///b x/y, 1 bytes]", false},
	"call-bad-base64":           oneCall(lostCall, "cannot be read"),
	"call-invalid-utf8":         {two, "ok", "ok", "a\ufffd", false},
	"call-breaks-output-schema": {two, "ok", "ok", "/n: got string, want integer", false},
	"call-input-required":       oneCall(toolsErr, "asks a person for input"),
	"closes-stdout":             lastCall("EOF"),
	"child-holds-stdout":        lastCall("exit status 7"),

	"call-400":                       oneCall(lostCall, `HTTP 400 Bad Request: "refused by the gateway"`),
	"call-401":                       oneCall(lostCall, "HTTP 401"),
	"call-403":                       oneCall(lostCall, "HTTP 403"),
	"call-404/http/legacy":           lastCall("HTTP 404"), // this is how a server says that it forgot the session
	"call-404/http/modern":           oneCall(lostCall, "HTTP 404"),
	"call-405":                       oneCall(lostCall, "HTTP 405"),
	"call-429":                       oneCall(lostCall, "HTTP 429"),
	"call-500":                       oneCall(lostCall, "HTTP 500"),
	"call-502":                       oneCall(lostCall, "HTTP 502"),
	"call-503":                       oneCall(lostCall, "HTTP 503"),
	"call-redirected-away":           oneCall(lostCall, "to http://other.invalid/mcp; configure that URL if you trust it"),
	"call-redirected-by-302":         oneCall(lostCall, "HTTP 302"),
	"call-redirected-in-a-circle":    oneCall(lostCall, "HTTP 307"),
	"call-html":                      oneCall(lostCall, "<html>Please log in</html>"),
	"call-no-body":                   oneCall(lostCall, "the answer is empty"),
	"call-202":                       oneCall(lostCall, "HTTP 202"),
	"call-other-session/http/legacy": oneCall(lostCall, "it answered in another, a new one"),
	"call-cut-json":                  oneCall(lostCall, "EOF"),
	"call-cut-events":                oneCall(lostCall, "the stream ended before the answer"),
	"call-no-event":                  oneCall(lostCall, "the stream ended before the answer"),
}
