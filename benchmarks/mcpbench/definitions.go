package mcpbench

// Definition says what one number is, by MCP-Bench and with its holes closed.
type Definition struct {
	Name      string `json:"name"`
	Published string `json:"published"`
	Closed    string `json:"closed"`
	Hole      string `json:"hole"` // by which the first is earned without doing the task, or lost without a fault
	of        func(Means) float64
}

// Of is the number of this name.
func (d Definition) Of(m Means) float64 { return d.of(m) }

// Definitions are those of all rule metrics. What holds of all three rates: a mean is over tasks, so a task of one call
// weighs as much as one of twenty.
func Definitions() []Definition {
	return []Definition{
		{"valid_tool_name_rate", "calls of known tools / calls; a task without calls is left out of the mean",
			"the same, but repeats of a call that has succeeded do not count, turns with a broken call do, " +
				"and a task without calls has 0, unless its checks say that no tool fits",
			"a model that calls nothing loses nothing; safe calls made again and again raise the rate",
			func(m Means) float64 { return m.ValidToolName }},
		{
			"input_schema_compliance", "calls whose arguments fit the tool's schema / calls of known tools; " +
				"0 without any; no schema: they fit; a schema that cannot be used: they do not",
			"calls that fit / all calls so counted, unknown tools among them; calls of tools whose schema cannot be " +
				"used are left out; repeated keys do not fit",
			"unknown tools are not counted against it; a server's broken schema is counted against the model",
			func(m Means) float64 { return m.SchemaCompliance },
		},
		{"execution_success_rate", "calls that were answered without isError / calls",
			"calls so counted that were answered without isError, with a text that does not tell of an error / calls " +
				"so counted",
			"many servers write their errors as text, without isError", func(m Means) float64 {
				return m.ExecutionSuccess
			}},
		{
			"valid_call_failure_rate",
			"calls of known tools that failed / calls of known tools; 0 without any; in no score",
			"the same, of the calls so counted; without any the task is left out",
			"0, the best, where no known tool was called", func(m Means) float64 { return m.ValidCallFailure },
		},
		{"planning_json_compliance", "planned entries that name a tool / planned entries; 1 without any; in no score",
			"calls that could be read / these and the turns with a broken call",
			"another model mends broken plans before they are counted",
			func(m Means) float64 { return m.PlanningJSON }},
		{"rules", "the mean of the first three: a quarter of the overall score",
			"the same, of the closed rates", "those of the three", func(m Means) float64 { return m.Rules }},
	}
}

// DefinitionRows are the definitions as a table.
func DefinitionRows() [][]string {
	rows := [][]string{{"METRIC", "", ""}}
	for _, d := range Definitions() {
		rows = append(rows, []string{d.Name, "published", d.Published}, []string{"", "closed", d.Closed},
			[]string{"", "hole", d.Hole})
	}
	return rows
}
