package userprogram_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hone/internal/episode/userprogram"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// input is what a worker of these tests reads; reply is what it answers.
type input struct {
	Do  string `json:"do"`
	Pad string `json:"pad,omitempty"`
}

type reply struct {
	ID  int
	PID int
}

// worker is a program in sh that reads lines and does what the shell makes of does, with $id and $do of the input.
func worker(t *testing.T, does string) *userprogram.Worker {
	t.Helper()
	name := filepath.Join(t.TempDir(), "judge.sh")
	text := "#!/bin/sh\nanswer() { echo \"{\\\"id\\\": $1, \\\"pid\\\": $$}\"; }\nwhile read -r line; do\n" +
		"id=${line#*:}; id=${id%%,*}\ndo=${line#*\\\"do\\\":\\\"}; do=${do%%\\\"*}\n" + does + "\ndone\n"
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	w := userprogram.NewWorker(userprogram.Program{Command: []string{name},
		Environ: []string{"PATH=" + os.Getenv("PATH")}})
	t.Cleanup(w.Close)
	return w
}

// ask returns the answer, or says that there was to be one.
func ask(t *testing.T, w *userprogram.Worker, do string) (r reply) {
	t.Helper()
	text, err := w.Ask(t.Context(), input{Do: do})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func lives(pid int) bool { return syscall.Kill(pid, 0) == nil }

// One process answers all, each by its id, and ends with the worker.
func TestWorkerIsOneProcess(t *testing.T) {
	w := worker(t, `answer "$id"`)
	first := ask(t, w, "a")
	for want := 2; want < 5; want++ {
		if r := ask(t, w, "b"); r != (reply{want, first.PID}) {
			t.Errorf("%+v after %+v", r, first)
		}
	}
	if w.Close(); lives(first.PID) {
		t.Error("it outlives its worker")
	}
	w.Close()
}

// An answer that comes after its time, or twice, is never taken for the next one's.
func TestWorkerPassesOverLateAnswers(t *testing.T) {
	w := worker(t, `[ "$id" = 1 ] || { answer 1; answer $((id - 1)); }; answer "$id"; answer "$id"`)
	for want := 1; want < 5; want++ {
		if r := ask(t, w, "a"); r.ID != want {
			t.Errorf("%d has the answer of %d", want, r.ID)
		}
	}
}

// A process that ends is replaced, and asked the same again, once; what it writes to stderr says why it ended.
func TestWorkerStartsAgainAfterACrash(t *testing.T) {
	w := worker(t, `case $do in
	once) [ -e crashed ] || { touch crashed; exit 4; };;
	always) echo no money >&2; exit 3;;
	last) answer "$id"; exit 0;;
	esac
	answer "$id"`)
	first := ask(t, w, "a")
	second := ask(t, w, "once")
	if second.PID == first.PID || lives(first.PID) {
		t.Errorf("%+v after %+v", second, first)
	}
	_, err := w.Ask(t.Context(), input{Do: "always"})
	if err == nil ||
		!strings.Contains(err.Error(), "judge.sh ended without an answer (exit status 3); stderr: no money") {
		t.Error(err)
	}
	third := ask(t, w, "last")
	if fourth := ask(t, w, "last"); third.PID == second.PID || fourth.PID == third.PID {
		t.Errorf("%+v after %+v", fourth, third)
	}
}

// A process that does not answer in time is stopped with all that it started, whether it reads its input or not, and so
// is one whose user stops waiting.
func TestWorkerStartsAgainAfterAHang(t *testing.T) {
	w := worker(t, `[ "$do" != hang ] || { sleep 1000 & echo $! > child; wait; }
	answer "$id"`)
	first := ask(t, w, "a")
	w.Program.Timeout = 50 * time.Millisecond
	_, err := w.Ask(t.Context(), input{Do: "hang", Pad: strings.Repeat("x", 1<<20)})
	if err == nil || !strings.Contains(err.Error(), "judge.sh did not answer within 50ms; it is started again") ||
		lives(first.PID) {
		t.Error(err)
	}
	w.Program.Timeout = 0
	second := ask(t, w, "a")
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	for range 2 { // one waits for the other
		go func() {
			_, err := w.Ask(ctx, input{Do: "hang"})
			errs <- err
		}()
	}
	child := filepath.Join(filepath.Dir(w.Program.Command[0]), "child")
	for {
		if text, err := os.ReadFile(child); err == nil && len(text) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	for range 2 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if third := ask(t, w, "a"); third.PID == second.PID || lives(second.PID) {
		t.Errorf("%+v after %+v", third, second)
	}
}

// What is no answer is an error that shows it; the next input has a process that begins anew.
func TestWorkerWritesWhatIsNoAnswer(t *testing.T) {
	for does, want := range map[string]string{
		"echo loading the model": `writes "loading the model", which is no answer`,
		`echo '[0.5]'`:           "is no answer", `echo '{"scores": [0.5]}'`: "is no answer",
		`echo '{"id": null}'`: "is no answer", "answer $((id + 1))": "with the id of the input, here 2",
		"head -c 200000 /dev/zero | tr '\\0' x": `writes "xxx`,
	} {
		w := worker(t, `[ "$do" = a ] || { `+does+`; }; answer "$id"`)
		first := ask(t, w, "a")
		_, err := w.Ask(t.Context(), input{Do: "b"})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), w.Program.Command[0]) {
			t.Errorf("%s: %v", does, err)
		}
		if second := ask(t, w, "a"); second.ID != 3 || second.PID == first.PID {
			t.Errorf("%s: %+v after %+v", does, second, first)
		}
	}
	gone := userprogram.NewWorker(userprogram.Program{Command: []string{"no-such-judge"},
		Environ: []string{"PATH=/nowhere"}})
	if _, err := gone.Ask(t.Context(), input{}); err == nil || !strings.Contains(err.Error(), "is not on PATH") {
		t.Error(err)
	}
}
