package stablehlo

import "sync"

// turns keep the first execution of a program apart from all else that is done on a client's devices. On NVIDIA's it
// warms up cuDNN's plans: it captures a graph on the device's own stream, and throws it away (cudnn-frontend,
// Graph::warmup). What another thread sets off on that stream meanwhile is captured too, and so is never run; or the
// capture fails. A trainer works beside its sampler where rollouts and training overlap.
type turns interface {
	sync.Locker // of who is to be alone
	RLock()
	RUnlock()
}

func turnsOf(isCUDA bool) turns {
	if isCUDA {
		return &sync.RWMutex{}
	}
	return nil
}

// turn waits for one, and is over when done is called. It is not to be taken twice at a time: who waits to be alone
// stops whoever comes after.
func (b *Backend) turn(alone bool) (done func()) {
	switch {
	case b.turns == nil:
		return func() {}
	case alone:
		b.turns.Lock()
		return b.turns.Unlock
	}
	b.turns.RLock()
	return b.turns.RUnlock
}
