package view

import "hone/internal/job"

// Reading is one run as the page reads it, for what shows it elsewhere.
type Reading struct {
	server *Server
	of     *followed
}

// NewReading reads the run in path. It opens the ledger for each question anew, so a run that goes on is read as it is.
func NewReading(env job.Env, path string) *Reading {
	s := &Server{Env: env, Runs: []string{path}}
	s.open()
	return &Reading{s, s.runs[0]}
}

// Overview is what a person wants to know of the run first.
func (r *Reading) Overview() (Overview, error) { return r.server.overview(r.of) }

// Series are metrics of a stage, all of them where no name is given.
func (r *Reading) Series(stage string, names ...string) (Series, error) {
	return r.server.series(r.of, stage, names)
}
