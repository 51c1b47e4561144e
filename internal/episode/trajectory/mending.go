package trajectory

import "regexp"

// mendings are what helps against reasons for which episodes are lost, by what these say.
var mendings = []struct {
	reason *regexp.Regexp
	next   string
}{
	{regexp.MustCompile(`\bcwd "`), `make that folder, or correct "cwd" of the server in the MCP configuration`},
	{regexp.MustCompile(`writes its messages (with|over)`),
		"look for an option of the server for MCP or newline-delimited JSON over stdio"},
	{regexp.MustCompile(`under the id .* (where .* was asked|which no request has)`),
		"take a version of the server that answers under the id of the request"},
	{regexp.MustCompile(`a whole message without a newline`),
		"take a version of the server that ends each message with a newline, as MCP over stdio wants it"},
	{regexp.MustCompile(`more than the \S+ GiB of mcp\.sandbox\.max_gib`),
		"raise mcp.sandbox.max_gib in hone.yaml, or have the server take less"},
	{regexp.MustCompile(`no answer within`),
		`raise "timeout" of the server in the MCP configuration, or mcp.timeout in hone.yaml`},
	{regexp.MustCompile(`no longer knows the session`),
		"have the server keep its sessions for longer than an episode takes"},
}

// Mending is what helps where episodes were lost for a reason; otherwise where nothing is known to.
func Mending(reason, otherwise string) string {
	for _, m := range mendings {
		if m.reason.MatchString(reason) {
			return m.next
		}
	}
	return otherwise
}
