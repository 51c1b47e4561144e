package mcp

import "hone/internal/mcp/scan"

// LintTools returns the catalog's tools as lint looks at them.
func (c *Catalog) LintTools() []scan.Tool {
	var tools []scan.Tool
	for _, s := range c.Servers {
		for _, t := range s.Tools {
			tools = append(tools, scan.Tool{Server: s.Name, Name: t.Name, Description: t.Description,
				InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations})
		}
	}
	return tools
}

// Suspicious returns the texts in the catalog's tools that could steer a model by the back door, the worst first, and
// the chains of servers by which data can leave.
func (c *Catalog) Suspicious() []scan.Finding {
	tools := c.LintTools()
	found := append(scan.Check(tools), scan.Chains(tools)...)
	scan.Sort(found)
	return found
}

// addFindings writes what Suspicious finds to the tools it is found in.
func (c *Catalog) addFindings() {
	tools := map[[2]string]*Tool{}
	for _, s := range c.Servers {
		for i := range s.Tools {
			tools[[2]string{s.Name, s.Tools[i].Name}] = &s.Tools[i]
		}
	}
	for _, f := range c.Suspicious() {
		t := tools[[2]string{f.Server, f.Tool}]
		t.Findings = append(t.Findings, string(f.Code)+" at "+f.Pointer+": "+f.Message+": "+f.Excerpt)
	}
}
