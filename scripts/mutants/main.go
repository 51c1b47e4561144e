// Command mutants asks whether the tests notice faults. It plants those of a list one at a time, runs the tests that
// the list names for each, and says which were noticed. The tree stays as it is: `go test -overlay` sees a changed copy
// of one file in its place.
//
//	go run ./scripts/mutants                # all: hours where little is cached; ends with 1 below 95%
//	go run ./scripts/mutants -run 'reward'  # those in whose name or file that is
//	go run ./scripts/mutants -check         # no test: only whether each still fits its file
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"
)

//go:embed list.txt
var list string

func main() {
	only := flag.String("run", "", "regular expression of names and files")
	check := flag.Bool("check", false, "only check that each mutant fits its file")
	share := flag.Float64("share", 0.95, "share that must be noticed")
	flag.Parse()
	if err := run(os.Stdout, list, *only, *check, *share); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run plants the mutants of a list in the tree below the working directory. Its error says what the tests missed
// without a reason in the list, or what is wrong with the list.
func run(w io.Writer, list, only string, check bool, share float64) error {
	all, err := parse(list)
	if err != nil {
		return err
	}
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var chosen []mutant
	var wrong []error
	for _, m := range all {
		if !wanted.MatchString(m.name) && !wanted.MatchString(m.file) {
			continue
		}
		if _, err := m.apply(); err != nil {
			wrong = append(wrong, err)
			continue
		}
		chosen = append(chosen, m)
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no mutant matches %q", only)
	}
	if check {
		fmt.Fprintf(w, "%d mutants fit their files\n", len(chosen))
		return nil
	}
	return plant(w, chosen, share)
}

// plant runs the tests of each mutant.
func plant(w io.Writer, chosen []mutant, share float64) error {
	noticed := 0
	var missed []error
	sound := map[string]error{} // by test command: whether it passes without a mutant
	for _, m := range chosen {
		began := time.Now()
		command := fmt.Sprint(m.test)
		if _, ran := sound[command]; !ran {
			sound[command] = m.sound()
		}
		err, found := sound[command], false
		if err == nil {
			found, err = m.isNoticed()
		}
		if err != nil {
			missed = append(missed, fmt.Errorf("%s: %w", m.name, err))
			fmt.Fprintf(w, "%-25s  %s  (%s)\n", "no mutant", m.name, m.file)
			continue
		}
		verdict := "NOT NOTICED"
		switch {
		case found && m.argued != "":
			missed = append(missed,
				fmt.Errorf("%s is noticed: take the reason for the contrary out of the list", m.name))
			verdict = "noticed, against the list"
			noticed++
		case found:
			verdict = "noticed"
			noticed++
		case m.argued != "":
			verdict = "not noticed, argued"
		default:
			missed = append(missed, fmt.Errorf("%s is not noticed by go test %v", m.name, m.test))
		}
		fmt.Fprintf(w, "%-25s  %s  (%s, %.1fs)\n", verdict, m.name, m.file, time.Since(began).Seconds())
	}
	fmt.Fprintf(w, "%d of %d mutants are noticed (%.1f%%)\n",
		noticed, len(chosen), 100*float64(noticed)/float64(len(chosen)))
	if float64(noticed) < share*float64(len(chosen)) {
		missed = append(missed, fmt.Errorf("less than %.0f%% are noticed", 100*share))
	}
	return errors.Join(missed...)
}
