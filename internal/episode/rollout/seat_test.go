package rollout

import (
	"testing"
	"testing/synctest"
	"time"
)

// An episode whose tools have come back is waited for again: the next begins once it leaves or is away anew.
func TestSeatsAreGivenWhileToolsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(2)
		given := func(s <-chan *sit) *sit {
			select {
			case s := <-s:
				return s
			default:
				return nil
			}
		}
		first := given(l.ask())
		asked := l.ask()
		if first.work(); given(asked) != nil {
			t.Error("the next begins before the tools have worked for long")
		}
		time.Sleep(2 * idleAfter)
		second := given(asked)
		if second == nil {
			t.Fatal("the next does not begin while tools work")
		}
		if err := first.speak(t.Context()); err != nil {
			t.Fatal(err)
		}
		first.silent()
		first.leave()
		if asked = l.ask(); given(asked) != nil {
			t.Error("one begins beside another whose tools do not work")
		}
		second.work()
		second.leave()
		if last := given(asked); last == nil {
			t.Error("none begins in an empty slot")
		}
		if time.Sleep(2 * idleAfter); l.away != 0 {
			t.Errorf("%d are away of those who left", l.away)
		}
	})
}
