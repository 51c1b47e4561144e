// Command parts runs the parts of `make test` one after the other, and prints at the end what each took and which
// packages were slowest:
//
//	go run ./scripts/parts -budget 12m 'setup=make -j2 setup' 'test=go test ./...'
//
// It stops at the first part that fails, with that part's exit code. Over the budget it says so and fails nothing: a
// machine may be busy.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// numSlowest is how many packages are listed.
const numSlowest = 10

// part is one command, and what it took.
type part struct {
	name, command string
	wall, cpu     time.Duration // cpu: user and system time of all processes that it waited for
}

// slow is a package's line of go test.
type slow struct {
	name    string
	seconds float64
}

func main() {
	budget := flag.Duration("budget", 0, "wall time to say something beyond")
	flag.Parse()
	os.Exit(run(flag.Args(), *budget, os.Stdout))
}

func run(args []string, budget time.Duration, out io.Writer) int {
	var parts []part
	var packages []slow
	code := 0
	for _, arg := range args {
		name, command, ok := strings.Cut(arg, "=")
		if !ok {
			fmt.Fprintf(out, "%q is not NAME=COMMAND\n", arg)
			return 2
		}
		p := part{name: name, command: command}
		lines, err := p.run(out)
		parts, packages = append(parts, p), append(packages, lines...)
		if err != nil {
			fmt.Fprintf(out, "%s: %v\n", p.name, err)
			code = 1
			if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
				code = exit.ExitCode()
			}
			break
		}
	}
	fmt.Fprint(out, summary(parts, packages, budget))
	return code
}

// run runs the command, shows what it prints, and returns the packages that go test names in it.
func (p *part) run(out io.Writer) (packages []slow, err error) {
	cmd := exec.Command("sh", "-c", p.command)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		fmt.Fprint(out, line)
		if s, ok := packageOf(line); ok {
			packages = append(packages, s)
		}
		if err != nil { // the end, or a pipe that broke: Wait says how the command ended
			break
		}
	}
	err = cmd.Wait()
	p.wall, p.cpu = time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	return packages, err
}

// tested matches a package's last line: "ok  \tpath\t1.234s" and what may follow.
var tested = regexp.MustCompile(`^(?:ok  |FAIL)\t(\S+)\t([0-9.]+)s\b`)

// packageOf reads the time of a package that was tested, not taken from the cache.
func packageOf(line string) (slow, bool) {
	m := tested.FindStringSubmatch(line)
	if m == nil {
		return slow{}, false
	}
	seconds, err := strconv.ParseFloat(m[2], 64)
	return slow{m[1], seconds}, err == nil
}

// summary is the table of the parts, the slowest packages, and a notice where the whole took more than the budget.
func summary(parts []part, packages []slow, budget time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-12s %8s %8s\n", "PART", "SECONDS", "CPU")
	var all part
	for _, p := range parts {
		fmt.Fprintf(&b, "%-12s %8.0f %8.0f\n", p.name, p.wall.Seconds(), p.cpu.Seconds())
		all.wall, all.cpu = all.wall+p.wall, all.cpu+p.cpu
	}
	fmt.Fprintf(&b, "%-12s %8.0f %8.0f\n", "all", all.wall.Seconds(), all.cpu.Seconds())
	slices.SortStableFunc(packages, func(a, b slow) int { return cmp.Compare(b.seconds, a.seconds) })
	if len(packages) > 0 {
		fmt.Fprintf(&b, "\nslowest packages, of %d that were not cached:\n", len(packages))
	}
	for _, s := range packages[:min(numSlowest, len(packages))] {
		fmt.Fprintf(&b, "%8.1f  %s\n", s.seconds, s.name)
	}
	if budget > 0 && all.wall > budget {
		fmt.Fprintf(
			&b,
			"\nnotice: this took %.1f minutes; the budget on 2 quiet cores is %.0f\n",
			all.wall.Minutes(),
			budget.Minutes(),
		)
	}
	return b.String()
}
