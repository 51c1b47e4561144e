package service

import (
	"encoding/json"
	"net/http"

	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/serve"
)

// taskRoutes are those that OpenEnv and the Open Reward Standard share.
func (s *Server) taskRoutes() []serve.Route {
	list := []serve.Route{
		{Method: "GET", Path: "/list_environments", Handle: func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, []string{EnvironmentName})
		}},
	}
	return append(append(list, s.tasksAt("")...), s.tasksAt("/"+EnvironmentName)...)
}

// tasksAt are the routes about scenarios below a path.
func (s *Server) tasksAt(at string) []serve.Route {
	return []serve.Route{
		{Method: "GET", Path: at + "/splits", Handle: s.listSplits},
		{Method: "POST", Path: at + "/tasks", Handle: s.about(func(list []*scenario.Scenario, _ slice) (any, error) {
			tasks, err := s.describe(list)
			return object{"tasks": tasks, "env_name": EnvironmentName}, err
		})},
		{
			Method: "POST",
			Path:   at + "/num_tasks",
			Handle: s.about(func(list []*scenario.Scenario, _ slice) (any, error) {
				return object{"num_tasks": len(list)}, nil
			}),
		},
		{Method: "POST", Path: at + "/task", Handle: s.about(func(_ []*scenario.Scenario, x slice) (any, error) {
			one, err := s.tasks.choose(Ask{Split: x.Split, Index: &x.Index})
			if err != nil {
				return nil, err
			}
			task, err := s.tasks.task(one, s.o.Environment.Shows)
			return object{"task": task}, err
		})},
		{
			Method: "POST",
			Path:   at + "/task_range",
			Handle: s.about(func(list []*scenario.Scenario, x slice) (any, error) {
				start, stop := 0, len(list)
				if x.Start != nil {
					start = min(max(*x.Start, 0), len(list))
				}
				if x.Stop != nil {
					stop = min(max(*x.Stop, start), len(list))
				}
				tasks, err := s.describe(list[start:max(start, stop)])
				return object{"tasks": tasks}, err
			}),
		},
	}
}

func (s *Server) listSplits(w http.ResponseWriter, _ *http.Request) {
	list := []object{}
	for _, split := range s.tasks.splits {
		list = append(list, object{"name": split, "type": split})
	}
	writeJSON(w, http.StatusOK, list)
}

// slice says which scenarios of a split are asked for.
type slice struct {
	Split string `json:"split"`
	Index int    `json:"index"`
	Start *int   `json:"start"`
	Stop  *int   `json:"stop"` // exclusive
}

// about answers a request about the scenarios of a split.
func (s *Server) about(answer func([]*scenario.Scenario, slice) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var x slice
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage)).Decode(&x)
		if err != nil {
			writeJSON(w, http.StatusUnprocessableEntity, object{"detail": fault.JSON(err).Error()})
			return
		}
		list, err := s.tasks.split(x.Split)
		var body any
		if err == nil {
			body, err = answer(list, x)
		}
		switch {
		case isAsk(err):
			writeJSON(w, http.StatusBadRequest, object{"detail": err.Error()})
		case err != nil:
			writeJSON(w, http.StatusInternalServerError, object{"detail": err.Error()})
		default:
			writeJSON(w, http.StatusOK, body)
		}
	}
}

func (s *Server) describe(list []*scenario.Scenario) ([]Task, error) {
	all := []Task{}
	for _, one := range list {
		task, err := s.tasks.task(one, s.o.Environment.Shows)
		if err != nil {
			return nil, err
		}
		all = append(all, task)
	}
	return all, nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only where the client is gone
}
