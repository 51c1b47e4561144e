package mcp

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Report is one server as it was found.
type Report struct {
	Tools ServerTools // its Name is always set; tools have no model names yet
	Stats Stats       // CallP50 and CallP95 are of tools/list
	Err   error       // a *Failure where the server cannot be used, else nil
}

// inspectRounds is how often Inspect measures a server's latency, inspectTime how long at most.
const (
	inspectRounds = 20
	inspectTime   = 3 * time.Second
)

// Inspect looks at every server of c at the same time, sorted by name: what it offers and how it behaves. A server that
// fails does not keep the others from being looked at.
func Inspect(ctx context.Context, c Config, o Options) []Report {
	return inspect(ctx, c, o, inspectRounds)
}

func inspect(ctx context.Context, c Config, o Options, rounds int) []Report {
	o = o.withDefaults()
	names := keysInOrder(c.Servers)
	reports := make([]Report, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			reports[i].Tools.Name = name
			l, err := newOpener(name, c.Servers[name], c.Base, o)
			if err != nil {
				reports[i].Err = err
				return
			}
			reports[i].Tools, reports[i].Err = look(ctx, l, rounds)
			reports[i].Stats = l.meter.read()
			reports[i].Tools.StrayLines = reports[i].Stats.StrayLines
		})
	}
	wg.Wait()
	return reports
}

// list asks a server for all it offers. The error is a *Failure.
func (l *opener) list(ctx context.Context, s *session) (ServerTools, error) {
	found, err := l.tools(ctx, s, true)
	if err != nil {
		return ServerTools{}, err
	}
	limited, cancel := context.WithTimeout(ctx, l.o.ProbeTimeout)
	defer cancel()
	listOffers(limited, s, &found)
	if _, odd := s.wire.greeting(); len(odd) > 0 {
		found.Warnings = append(found.Warnings,
			"its answer to initialize does not follow the protocol: "+strings.Join(odd, ", "))
	}
	found.Name, found.Era, found.Version, found.Transport = l.name, s.era(), s.version(), s.via
	return found, nil
}

// tools asks a server for its tools, and keeps those that are used. At first each name of the configuration must be
// one's; later a tool may be gone.
func (l *opener) tools(ctx context.Context, s *session, first bool) (ServerTools, error) {
	limited, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	found, err := listTools(limited, s)
	if err == nil && first {
		err = l.server.misses(found)
	}
	if err == nil {
		l.server.pick(&found)
		if l.o.ResourceTools && s.offersResources() {
			found.Tools = append(found.Tools, resourceTools(found.Tools)...)
		}
		return found, nil
	}
	if limited.Err() != nil && ctx.Err() == nil {
		err = noAnswer(l.o.ConnectTimeout)
	}
	return ServerTools{}, s.failureUnder(ctx, PhaseList, err)
}

func look(ctx context.Context, l *opener, rounds int) (ServerTools, error) {
	nothing := ServerTools{Name: l.name}
	s, err := l.openFrom(ctx, start{})
	if err != nil {
		return nothing, err
	}
	defer s.close()
	found, err := l.list(ctx, s)
	if err != nil {
		return nothing, err
	}
	limited, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	for range rounds {
		began := time.Now()
		if _, err := s.client.ListTools(limited, &mcp.ListToolsParams{}); err != nil {
			break
		}
		l.meter.noteMeasure(time.Since(began))
	}
	return found, nil
}
