package dataset

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var benchRows = flag.Int("rows", 100_000, "rows of BenchmarkToucan")

// toucanLike is a row as Toucan has it: 20 tools in the system message and once more in available_tools, two user
// turns, four calls with results of 1 KiB: 32 KiB in all.
func toucanLike(dst []byte, n int) []byte {
	var tools []string
	for i := range 20 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"server-tool_%d","description":"%s","parameters":{"type":"object","properties":{"query":{"type":"string","description":"What is looked for."},"limit":{"type":"integer","default":10}},"required":["query"]}}}`,
			i, strings.Repeat("It does one thing and says what came of it. ", 6)))
	}
	list := "[" + strings.Join(tools, ",") + "]"
	var m []string
	say := func(role, content, more string) {
		m = append(m, `{"role":"`+role+`","content":`+strconv.Quote(content)+more+`}`)
	}
	m = append(m, `{"role":"system","content":`+
		strconv.Quote("<|im_system|>tool_declare<|im_middle|>"+list+"<|im_end|>")+`}`)
	for turn := range 2 {
		say("user", fmt.Sprintf("Question %d of row %d: %s", turn, n, strings.Repeat("what is known of it? ", 10)), "")
		for call := range 2 {
			say(
				"assistant", "", fmt.Sprintf(
					`,"function_call":{"name":"server-tool_%d","arguments":"{\"query\": \"row %d\", \"limit\": %d}"}`, call, n, call,
				),
			)
			say("function", strings.Repeat("A line of what was found, with \"quotes\" and numbers 1.5.\n", 18),
				fmt.Sprintf(`,"name":"server-tool_%d"`, call))
		}
		say("assistant", strings.Repeat("This is what I found. ", 20), "")
	}
	return fmt.Appendf(dst, `{"uuid":"%d","subset_name":"multi-turn","question":"q","available_tools":%s,"target_tools":"server-tool_0","messages":%s,"metadata":"{}"}`+"\n",
		n, strconv.Quote(list), strconv.Quote("["+strings.Join(m, ",")+"]"))
}

// BenchmarkToucan reads rows from a file and writes them as hone's lines. The file is written once, before.
func BenchmarkToucan(b *testing.B) {
	path := filepath.Join(b.TempDir(), "toucan.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var buf []byte
	for n := range *benchRows {
		buf = toucanLike(buf[:0], n)
		if _, err := w.Write(buf); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err != nil || f.Close() != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		start, worked := time.Now(), cpu(b)
		var line []byte
		report, err := Read([]string{path}, Options{}, func(r Row) (err error) {
			line, err = r.AppendJSON(line[:0])
			return err
		})
		if err != nil || report.Kept != *benchRows {
			b.Fatal(report, err)
		}
		seconds := time.Since(start).Seconds()
		b.ReportMetric(seconds*100_000/float64(*benchRows), "s/100k-rows")
		b.ReportMetric((cpu(b)-worked)*100_000/float64(*benchRows), "cpu-s/100k-rows")
		b.ReportMetric(float64(size)/seconds/1e6, "MB/s")
		b.ReportMetric(peak(b), "peak-MiB")
	}
}

// cpu is the time that the process has computed, in seconds.
func cpu(b *testing.B) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// peak is the most memory that the process has held, in MiB.
func peak(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("needs /proc")
	}
	_, after, _ := bytes.Cut(status, []byte("VmHWM:"))
	kib, err := strconv.ParseFloat(string(bytes.Fields(after)[0]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}
