package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
)

// loadingAgain is after how many seconds a client is told to ask again while a model loads: that takes seconds to
// minutes.
const loadingAgain = "5"

// loading refuses every route with 503, in the form of its protocol.
func (f Front) loading() http.Handler {
	refuse := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", loadingAgain)
		refuseAt(w, r, &apiError{http.StatusServiceUnavailable, "server_error", "", "loading",
			"the model is loading; ask again in " + loadingAgain + " s"})
	}
	mux := http.NewServeMux()
	mux.Handle("/health", f.withRequestID(http.HandlerFunc(refuse)))
	mux.Handle("/", f.withRequestID(f.withKey(refuse)))
	return mux
}

// Early answers on a listener at once, from options that need no model: keys, times and the log. load makes the server,
// and calls open with it; until then every request is refused with 503 and Retry-After. Then it is as Server.Serve. It
// closes the listener. An error of load ends it.
func Early(
	ctx context.Context, l net.Listener, o Options, load func(ctx context.Context, open func(*Server)) error,
) error {
	type opened struct {
		http.Handler
		server *Server
	}
	o.settle()
	front := o.front()
	var now atomic.Pointer[opened]
	now.Store(&opened{Handler: front.loading()})
	front.Drain = func() {
		if s := now.Load().server; s != nil {
			s.drain()
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop() // nobody waits for what is being loaded
		ended <- front.Serve(ctx, l,
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().ServeHTTP(w, r) }))
	}()
	err := load(ctx, func(s *Server) { now.Store(&opened{s.Handler(), s}) })
	if err != nil {
		stop()
	}
	err = errors.Join(err, <-ended)
	if s := now.Load().server; s != nil {
		s.Close()
	}
	return err
}
