package metrics

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"regexp"
	"time"

	"hone/internal/blob"
)

// PrometheusOptions say where metrics are shown. Either may be empty.
type PrometheusOptions struct {
	Address string // of this machine alone: 127.0.0.1:9464
	File    string // whose name ends in .prom, written anew after each step
	Run     string // its name, a label
	Warn    func(error)
}

// Prometheus is a Sink. A metric NAME of a row is the gauge hone_NAME with the labels run and stage; what is no
// letter, digit or underscore in it is an underscore.
type Prometheus struct {
	o      PrometheusOptions
	meter  *Meter
	server *http.Server
	done   chan struct{} // the server has ended
	broken bool          // the file cannot be written
}

// Names of what each row has beside its metrics.
const (
	steps   = "hone_steps"
	updated = "hone_updated_timestamp_seconds"
	ended   = "hone_ended"
)

// OpenPrometheus begins to listen, and shows what the run has. What cannot be done is told to o.Warn, and left out.
func OpenPrometheus(o PrometheusOptions, rows []Row) *Prometheus {
	help := map[string]string{steps: "Steps of the stage that were taken.",
		updated: "When the stage's last row was written, in seconds since 1970.",
		ended:   "1 after the run has ended: by its status finished, failed or stopped."}
	e := &Prometheus{o: o, meter: NewMeter(help), done: make(chan struct{})}
	for _, r := range rows {
		e.take(r)
	}
	e.listen()
	e.write()
	return e
}

func (e *Prometheus) listen() {
	if e.o.Address == "" {
		close(e.done)
		return
	}
	listener, err := net.Listen("tcp", e.o.Address)
	if err != nil {
		close(e.done)
		e.o.Warn(err)
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		e.meter.Write(w)
	})
	e.server = &http.Server{Addr: listener.Addr().String(), Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(e.done)
		_ = e.server.Serve(listener) // it ends by Close
	}()
}

// Address is where it listens; "" where it does not.
func (e *Prometheus) Address() string {
	if e.server == nil {
		return ""
	}
	return e.server.Addr
}

// Put implements Sink.
func (e *Prometheus) Put(r Row) {
	e.take(r)
	e.write()
}

func (e *Prometheus) take(r Row) {
	labels := e.labels("stage", r.Stage)
	for name, x := range r.Values {
		e.meter.Describe(gauge(name), Means(name))
		e.meter.Set(gauge(name), labels, x)
	}
	e.meter.Set(steps, labels, float64(r.Step+1))
	if r.Stage == ValidationStage {
		e.meter.Set(steps, labels, float64(r.Step)) // those before it
	}
	e.meter.Set(updated, labels, float64(r.At.UnixMilli())/1000)
}

func (e *Prometheus) labels(more ...string) string {
	return Labels(append([]string{"run", e.o.Run}, more...)...)
}

// write replaces the file whole, as the collector wants it.
func (e *Prometheus) write() {
	if e.o.File == "" || e.broken {
		return
	}
	var text bytes.Buffer
	e.meter.Write(&text)
	if err := blob.Write(e.o.File, text.Bytes(), 0o644); err != nil {
		e.broken = true
		e.o.Warn(err)
	}
}

// Close implements Sink. The file stays, and says that the run has ended.
func (e *Prometheus) Close(s Status) {
	word := map[Status]string{Finished: "finished", Failed: "failed",
		Stopped: "stopped"}[s]
	e.meter.Set(ended, e.labels("status", word), 1)
	e.write()
	if e.server != nil {
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		if e.server.Shutdown(ctx) != nil {
			_ = e.server.Close() // whoever still reads is cut off
		}
	}
	<-e.done
}

var notInPrometheus = regexp.MustCompile(`[^A-Za-z0-9_]`)

func gauge(name string) string { return "hone_" + notInPrometheus.ReplaceAllString(name, "_") }
