package env

import (
	"encoding/json"
	"io"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/env/service"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/mcp"
)

// Formats are those of rows, by the trainers' side that reads them.
func Formats() []string { return []string{"trl", "nemo-gym", "ors"} }

// TasksAsked is what the user asks of hone env tasks.
type TasksAsked struct {
	Dataset, Split string // Split may be "all"
	Format         string
	Catalog        string // of hone discover, whose tools NeMo Gym's rows have; "": they have none
}

// Tasks writes a row for each scenario, by which trainers name it: JSON lines.
func Tasks(e job.Env, c config.Config, a TasksAsked) error {
	var err error
	if a.Dataset, err = job.Dataset(a.Dataset, c); err != nil {
		return err
	}
	var tools []chat.Tool
	if a.Catalog != "" {
		catalog, err := mcp.Load(a.Catalog)
		if err != nil {
			return err
		}
		tools = catalog.Tools()
	}
	write, err := writer(a.Format, tools)
	if err != nil {
		return err
	}
	list, err := job.LoadForTraining(e.Host, a.Dataset, false, len(c.Rewards.Expressions) > 0)
	if err != nil {
		return err
	}
	if list, err = servable(e.Host, c, list, a.Dataset); err != nil {
		return err
	}
	places := placesOf(list)
	if a.Split != "all" {
		if list, err = job.OfSplit(list, a.Split, a.Dataset); err != nil {
			return err
		}
	}
	if c, err = basemodel.SettleLengths(e.Host, c); err != nil {
		return err
	}
	for _, s := range list {
		if err := encode(e.Data, write(s, environment.Opening(c.Rollout.System, s), places[s.ID])); err != nil {
			return err
		}
	}
	e.Say("%s; serve them with hone env serve --dataset %s", fault.Count(len(list), "row"), a.Dataset)
	return nil
}

// placesOf are the places of scenarios in their splits, by id.
func placesOf(list []scenario.Scenario) map[string]int {
	places, next := map[string]int{}, map[string]int{}
	for _, s := range list {
		places[s.ID] = next[s.Split]
		next[s.Split]++
	}
	return places
}

func encode(w io.Writer, row any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(row)
}

// rowWriter is the row of a scenario with this opening, at this place of its split.
type rowWriter func(s scenario.Scenario, opening []chat.Message, place int) any

// writer writes rows of a format. tools are for NeMo Gym's.
func writer(format string, tools []chat.Tool) (rowWriter, error) {
	switch format {
	case "trl":
		return trlRow, nil
	case "nemo-gym":
		return nemoGymRow(tools), nil
	case "ors":
		return orsRow, nil
	}
	return nil, &fault.Error{Code: fault.CodeUsage, What: "there is no such format of rows",
		Where: "--format " + format, Next: "give trl, nemo-gym or ors"}
}

func trlRow(s scenario.Scenario, opening []chat.Message, _ int) any {
	return struct {
		Prompt   []chat.Message `json:"prompt"`
		Scenario string         `json:"scenario"`
		Hash     string         `json:"hash"`
	}{opening, s.ID, s.Hash()}
}

// nemoGymRow is a row for NeMo Gym, whose simple agent shows the row's tools. Other clients ask the session's MCP
// server.
func nemoGymRow(tools []chat.Tool) rowWriter {
	type tool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	}
	type params struct {
		Input []any  `json:"input"`
		Tools []tool `json:"tools"`
	}
	list := []tool{}
	for _, t := range tools {
		list = append(list, tool{"function", t.Name, t.Description, t.InputSchema, false})
	}
	return func(s scenario.Scenario, opening []chat.Message, _ int) any {
		return struct {
			Params   params            `json:"responses_create_params"`
			Metadata map[string]string `json:"verifier_metadata"`
		}{params{responsesInput(opening), list}, map[string]string{"scenario": s.ID, "hash": s.Hash()}}
	}
}

// responsesInput is a conversation as items of OpenAI's Responses.
func responsesInput(messages []chat.Message) (items []any) {
	for _, m := range messages {
		if m.Role == chat.ToolRole {
			items = append(items,
				map[string]string{"type": "function_call_output", "call_id": m.ToolCallID, "output": m.Content})
			continue
		}
		if m.Content != "" || len(m.ToolCalls) == 0 {
			items = append(items, map[string]string{"role": m.Role, "content": m.Content})
		}
		for _, c := range m.ToolCalls {
			items = append(items,
				map[string]string{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": c.Arguments})
		}
	}
	return items
}

func orsRow(s scenario.Scenario, _ []chat.Message, place int) any {
	return map[string]any{"env_name": service.EnvironmentName, "split": s.Split, "index": place, "scenario": s.ID,
		"hash": s.Hash()}
}
