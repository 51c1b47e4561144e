package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/env"
)

func newCluster(a *app) *cobra.Command {
	var d env.Deployment
	c := &cobra.Command{Use: "render --image IMAGE",
		Short: "Write Kubernetes manifests of hone env serve with this configuration, these servers and scenarios",
		Long: `render writes a Deployment of hone env serve behind a Service, with a ConfigMap of the configuration, the
servers and the scenarios; it names the Secret of the keys. A server whose entry has a key kubernetes runs in a pod for
each session: one that hone makes, or one claimed of a warm pool of kubernetes-sigs/agent-sandbox.`,
		Example: "  hone cluster render --image registry.example.com/hone:v1.0.0 > cluster.yaml",
		Args:    arguments(0, 0, ""),
		RunE: a.withConfig(func(_ context.Context, c config.Config) error {
			d.Config = a.configPath
			return env.Render(a.jobs(c), c, d)
		})}
	f := c.Flags()
	f.StringVar(&d.Servers, "mcp-config", "", "file with the servers (default the configuration's)")
	f.StringVar(&d.Dataset, "dataset", "", "scenarios file (default the configuration's)")
	f.StringVar(&d.Image, "image", "", "image of hone in a registry that the cluster reaches")
	f.StringVar(&d.Namespace, "namespace", "default", "namespace of all that is written")
	f.IntVar(&d.Replicas, "replicas", 1, "pods of hone env serve")
	f.IntVar(&d.MaxSessions, "max-sessions", 64, "episodes under way at once in each of them")
	verbs := &cobra.Command{Use: "cluster", Short: "Write what has a Kubernetes cluster serve scenarios"}
	verbs.AddCommand(c)
	return group(verbs)
}
