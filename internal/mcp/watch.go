package mcp

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	memoryEvery = 500 * time.Millisecond // from one look at the processes to the next
	// from one look at what they keep in files to the next; longer where a look takes long
	filesEvery = 2 * time.Second
	filesShare = 10 // a look at files is followed by a rest of this many times its length

	leastBound = 2 << 30
)

// boundKey is the key of hone.yaml that raises a bound.
const boundKey = "mcp.sandbox.max_gib"

// watch looks at what the processes of all servers take together, and ends a server that takes more than its bound:
// limits of the kernel without a control group are of one process each. It looks while there is a server.
type watch struct {
	mu   sync.Mutex
	held map[int]*process   // by the leader's pid
	stop chan struct{}      // nil while nothing is held
	kept map[int][]procStat // by the leader's pid: all processes of the server
}

// watched are the processes of all servers.
var watched = watch{held: map[int]*process{}, kept: map[int][]procStat{}}

func (w *watch) add(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held[p.pid] = p
	if w.stop == nil {
		w.stop = make(chan struct{})
		go w.lookAtMemory(w.stop)
		go w.lookAtFiles(w.stop)
	}
}

// remove is called once the leader has been waited for, whose pid may then be another's.
func (w *watch) remove(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, p.pid)
	delete(w.kept, p.pid)
	if len(w.held) == 0 {
		close(w.stop)
		w.stop = nil
	}
}

// all are the servers' processes by the leader's pid, and with them what each has started.
func (w *watch) all() (held map[int]*process, kept map[int][]procStat) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held, kept = map[int]*process{}, map[int][]procStat{}
	for pid, p := range w.held {
		held[pid], kept[pid] = p, w.kept[pid]
	}
	return held, kept
}

func (w *watch) lookAtMemory(stop chan struct{}) {
	ticker := time.NewTicker(memoryEvery)
	defer ticker.Stop()
	var last owners
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			last = w.weigh(last)
		}
	}
}

// weigh ends the servers whose processes have more memory than they may. last is what it returned the time before.
func (w *watch) weigh(last owners) owners {
	held, _ := w.all()
	processes := readProcesses()
	now := ownersOf(processes, held, last)
	members, resident := map[int][]procStat{}, map[int]int64{}
	for _, one := range processes {
		if leader := now[one.id]; leader != 0 {
			members[leader] = append(members[leader], one)
			resident[leader] += one.resident
		}
	}
	w.mu.Lock()
	for leader := range w.held {
		w.kept[leader] = members[leader]
	}
	w.mu.Unlock()
	for leader, p := range held {
		files := p.inMemory.Load()
		if resident[leader]+files <= p.bound {
			continue
		}
		if n := ownMemory(members[leader], files); n > p.bound { // shared pages were counted for each that has them
			w.end(p, fmt.Sprintf("its processes took %s of memory together", gib(n)))
		}
	}
	return now
}

func (w *watch) lookAtFiles(stop chan struct{}) {
	rest := filesEvery
	for {
		timer := time.NewTimer(rest)
		select {
		case <-stop:
			timer.Stop()
			return
		case <-timer.C:
		}
		began := time.Now()
		w.measure()
		rest = max(filesEvery, filesShare*time.Since(began))
	}
}

// measure ends the servers whose folder holds more than it may, and notes what they keep in files that are in memory.
func (w *watch) measure() {
	held, kept := w.all()
	for leader, p := range held {
		inMemory, unlinked := openFiles(kept[leader])
		p.inMemory.Store(inMemory + privateMounts(kept[leader]))
		if p.folder == "" {
			continue
		}
		if n := unlinked + folderSize(p.folder, p.bound-unlinked); n > p.bound {
			w.end(p, fmt.Sprintf("the episode's folder had %s of files", gib(n)))
		}
	}
}

// end kills all of a server, and says why.
func (w *watch) end(p *process, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held[p.pid] != p {
		return
	}
	why = fmt.Sprintf("%s, more than the %s of %s", why, gib(p.bound), boundKey)
	p.over.CompareAndSwap(nil, &why)
	syscall.Kill(-p.pid, syscall.SIGKILL)
	for _, one := range w.kept[p.pid] {
		syscall.Kill(one.pid, syscall.SIGKILL)
	}
}

// isOverBound reports whether a server was ended for what it took.
func isOverBound(said string) bool {
	return strings.HasPrefix(said, ended) && strings.Contains(said, " of "+boundKey)
}

func gib(n int64) string {
	return fmt.Sprintf("%.3g GiB", float64(n)/(1<<30))
}
