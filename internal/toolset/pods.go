package toolset

import (
	"errors"
	"maps"
	"slices"

	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
)

// usePods has the servers that run in pods run there, where there are any. Outside of a cluster none of their sessions
// can be opened, which whoever opens one is told.
func (o *Housing) usePods(h *host.Host) error {
	inPods := func(s mcp.Server) bool { return s.Pod != nil }
	if !slices.ContainsFunc(slices.Collect(maps.Values(o.Servers.Servers)), inPods) {
		return nil
	}
	cluster, err := sandbox.InCluster(h.LookupEnv, sandbox.AccountDir)
	if errors.Is(err, sandbox.ErrOutside) {
		return nil
	}
	if err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot speak to the cluster's API", Where: sandbox.AccountDir,
			Err: err, Next: "give the pod a service account, as hone cluster render writes it"}
	}
	cluster.Say = h.Say
	o.Options.Pod = cluster.Open
	for _, name := range sortedNames(o.Servers) {
		switch p := o.Servers.Servers[name].Pod; {
		case p == nil:
		case p.Pool != "":
			h.Say("server %s: each session claims a pod of the pool %s", name, p.Pool)
		default:
			h.Say("server %s: each session has a pod of its own", name)
		}
	}
	return nil
}
