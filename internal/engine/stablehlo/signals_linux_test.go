package stablehlo

import (
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// action is a signal's, as Linux has it (struct kernel_sigaction).
type action struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const onStack = 0x08000000 // SA_ONSTACK

// actionOf reads a signal's action and, where to is one, replaces it.
func actionOf(t *testing.T, s syscall.Signal, to *action) action {
	t.Helper()
	var now action
	if _, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(to)),
		uintptr(unsafe.Pointer(&now)), unsafe.Sizeof(now.mask), 0, 0); e != 0 {
		t.Fatal(e)
	}
	return now
}

// putBack has a signal's handler put back as signal(2) does, and what of it Go asks for is lost.
func putBack(t *testing.T, s syscall.Signal) {
	t.Helper()
	x := actionOf(t, s, nil)
	x.flags, x.mask = x.flags&^(onStack|4), 1<<(s-1) // SA_SIGINFO too
	actionOf(t, s, &x)
}

// What a plug-in's libraries do to Go's handlers of signals is undone behind a client's making, a program's compiling
// and its first execution.
func TestSignalsStayGos(t *testing.T) {
	const s = syscall.SIGUSR2
	want := actionOf(t, s, nil)
	if want.flags&onStack == 0 {
		t.Skipf("something else handles signals: %+v", want)
	}
	t.Cleanup(func() { actionOf(t, s, &want) })
	check := func(behind string) {
		t.Helper()
		if got := actionOf(t, s, nil); got != want {
			t.Errorf("behind %s a signal's action is %+v, want %+v", behind, got, want)
		}
		putBack(t, s)
	}
	if _, err := openPlugin(plugPath(t)); err != nil {
		t.Fatal(err)
	}
	putBack(t, s)
	b := plug(t)
	check("a client's making")
	shape := shapes.Make(dtypes.Float32, 2)
	builder := b.Builder("same")
	f := builder.Main()
	x, err := f.Parameter("x", shape, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Return([]compute.Value{x}, nil); err != nil {
		t.Fatal(err)
	}
	executable, err := builder.Compile()
	if err != nil {
		t.Fatal(err)
	}
	defer executable.Finalize()
	check("compiling")
	in, err := b.BufferFromFlatData(0, []float32{1, 2}, shape)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Finalize() }()
	out, err := executable.Execute([]compute.Buffer{in}, []bool{false}, 0)
	if err != nil {
		t.Fatal(err)
	}
	check("an execution")
	_ = out[0].Finalize()
}

// A handler is mended while the plug-in still works, for that is when a user loses patience; that of a signal which
// asks the process to end is taken back from whoever has it. Another that is not Go's stays.
func TestSignalsAreGuardedMeanwhile(t *testing.T) {
	knowSignals()
	const lost, taken, ignored, foreign = syscall.SIGUSR2, syscall.SIGQUIT, syscall.SIGALRM, syscall.SIGUSR1
	want := actionOf(t, lost, nil)
	for _, s := range []syscall.Signal{lost, taken, ignored, foreign} {
		was := actionOf(t, s, nil)
		if was.flags&onStack == 0 {
			t.Skipf("something else handles %v: %+v", s, was)
		}
		t.Cleanup(func() { actionOf(t, s, &was) })
	}
	other := action{handler: want.handler + 1, restorer: want.restorer, flags: 0x04000000} // SA_RESTORER
	none := other
	none.handler = 1 // SIG_IGN
	actionOf(t, foreign, &other)
	actionOf(t, ignored, &none)
	stop := guardSignals()
	defer stop()
	putBack(t, lost)
	actionOf(t, taken, &other)
	for began := time.Now(); actionOf(t, lost, nil) != want || actionOf(t, taken, nil) != want; {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("actions stay %+v and %+v, want %+v", actionOf(t, lost, nil), actionOf(t, taken, nil), want)
		}
		time.Sleep(time.Millisecond)
	}
	if x, y := actionOf(t, foreign, nil), actionOf(t, ignored, nil); x.handler != other.handler || y.handler != 1 {
		t.Errorf("handlers that are not Go's became %+v and %+v", x, y)
	}
}
