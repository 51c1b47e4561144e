package synth

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/mcp/sandbox"
	"hone/internal/mcp/scan"
	"hone/internal/toolset"
)

// TestMain has the binary of the tests be the helper of the sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "sandbox-exec" {
		fmt.Fprintln(os.Stderr, sandbox.Exec(os.Args[2:], os.Environ()))
		os.Exit(99)
	}
	os.Exit(m.Run())
}

// BenchmarkSynth makes scenarios until about 1,000 candidates were drafted and executed, of a server whose sessions are
// each a process of their own (memory, which has state) and of one that all share (calc), without the sandbox and in
// it. All tools are called either way. It reports the processors' time too, of hone and of the servers: on a busy
// machine that over the number of cores is what an idle one would take at least. What runs in the sandbox is no child
// of ours, so perf stat -e task-clock is to count it.
func BenchmarkSynth(b *testing.B) {
	root, err := filepath.Abs("../..")
	if err != nil {
		b.Fatal(err)
	}
	for _, row := range []struct {
		name, sandbox, entry string
		n                    int
	}{
		{
			"memory", "off", fmt.Sprintf(
				`{"command": "node", "args": [%q], "env": {"MEMORY_FILE_PATH": "${HONE_EPISODE_DIR}/memory.jsonl"}}`, root+"/cmd/hone/testdata/servers/node_modules/@modelcontextprotocol/server-memory/dist/index.js",
			), 600,
		},
		{
			"memory in the sandbox", "auto", fmt.Sprintf(
				`{"command": "node", "args": [%q], "env": {"MEMORY_FILE_PATH": "${HONE_EPISODE_DIR}/memory.jsonl"}}`, root+"/cmd/hone/testdata/servers/node_modules/@modelcontextprotocol/server-memory/dist/index.js",
			), 600,
		},
		{"calc", "off", fmt.Sprintf(`{"command": "node", "args": [%q]}`, root+"/demo/node_modules/@coo-quack/calc-mcp/dist/index.js"), 460},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				dir := b.TempDir()
				servers := filepath.Join(dir, "mcp.json")
				if err := os.WriteFile(servers, []byte(`{"mcpServers": {"s": `+row.entry+`}}`), 0o600); err != nil {
					b.Fatal(err)
				}
				null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
				if err != nil {
					b.Fatal(err)
				}
				h := &host.Host{
					Data:      sanitize.New(null),
					Talk:      sanitize.New(null),
					Quiet:     true,
					LookupEnv: os.LookupEnv,
					Environ:   os.Environ(),
					CacheDir:  dir,
					Helper:    []string{os.Args[0], "sandbox-exec"},
				}
				c := config.Default()
				c.MCP.Config, c.MCP.Sandbox.Mode, c.Model.Context = servers, row.sandbox, 4096
				began, spent := time.Now(), cpu()
				made, err := Run(context.Background(), h, c, toolset.Source{}, Options{
					Out:           filepath.Join(dir, "made.json"),
					N:             row.n,
					SplitBy:       "task",
					Workers:       runtime.GOMAXPROCS(0) + 1,
					CallAll:       true,
					ReferenceRuns: 1,
					AllowFindings: scan.Allowed{"*"},
				})
				if made == nil {
					b.Fatal(err)
				}
				executed := 0
				for _, s := range made.Report.Stages {
					if s.Name == "execute" {
						executed = s.In
					}
				}
				b.ReportMetric(float64(executed), "candidates")
				b.ReportMetric(1000*time.Since(began).Seconds()/float64(executed), "s/1000-candidates")
				if row.sandbox == "off" {
					b.ReportMetric(1000*(cpu()-spent).Seconds()/float64(executed), "cpu-s/1000-candidates")
				}
			}
		})
	}
}

// cpu is the processors' time of this process and of its children that have ended.
func cpu() (total time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return total
}
