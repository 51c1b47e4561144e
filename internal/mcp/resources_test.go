package mcp

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
)

// Where it is asked for, a server's resources are two tools, which answer from the live server as its own tools do.
func TestResourcesAsTools(t *testing.T) {
	offers := Server{Command: os.Args[0], Args: []string{"fixture", "offers"}}.withDefaults()
	config := configOf(t,
		map[string]Server{"offers": offers, "plain": {Command: os.Args[0], Args: []string{"fixture", "tools"}}})
	without, err := Discover(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := Discover(t.Context(), config, Options{ResourceTools: true})
	if err != nil {
		t.Fatal(err)
	}
	var added []string
	for _, change := range Diff(without, catalog) {
		added = append(added, change.Kind+" "+change.Server+"/"+change.Tool)
	}
	if want := []string{"added offers/list_resources", "added offers/read_resource"}; !slices.Equal(added, want) {
		t.Fatalf("with resources: %v, want %v", added, want)
	}
	p := newPool(t, config, Options{ResourceTools: true})
	together(context.Background(), t, p, 2, func(_ int, e *Episode) {
		for _, step := range []struct {
			tool, args string
			status     trajectory.CallStatus
			want       string
		}{
			{"list_resources", `{}`, trajectory.CallOK, "file:///a | a | text/plain\nfile:///{name} | any"},
			{"read_resource", `{"uri":"file:///a"}`, trajectory.CallOK, "contents"},
			{"read_resource", `{"uri":"file:///b"}`, trajectory.CallToolError, "not found"},
			{"read_resource", `{"path":"a"}`, trajectory.CallInvalid, "invalid arguments"},
			{"list_resources", `{"cursor":"nonsense"}`, trajectory.CallToolError, "invalid params"},
		} {
			if r := ask(e, step.tool, step.args); r.Status != step.status ||
				!strings.Contains(strings.ToLower(r.Text), strings.ToLower(step.want)) {
				t.Errorf("%s %s: %+v", step.tool, step.args, r)
			}
		}
	})
}

// Their names stay apart from the server's own tools.
func TestResourceToolsHaveNamesOfTheirOwn(t *testing.T) {
	tools := resourceTools([]Tool{{Name: "read_resource"}, {Name: "read_resource_"}})
	if tools[0].Name != "list_resources" || tools[1].Name != "read_resource__" {
		t.Errorf("named %s and %s", tools[0].Name, tools[1].Name)
	}
}

// The reference server's resources, over its own pages.
func TestEverythingServersResources(t *testing.T) {
	p := newPool(t, configOf(t, map[string]Server{"all": realServer(t, "server-everything", "stdio")}),
		Options{ResourceTools: true})
	together(context.Background(), t, p, 1, func(_ int, e *Episode) {
		list := ask(e, "list_resources", `{}`)
		uri, _, found := strings.Cut(list.Text, " | ")
		if list.Status != trajectory.CallOK || !found {
			t.Fatalf("list: %+v", list)
		}
		if r := ask(e, "read_resource", `{"uri":"`+uri+`"}`); r.Status != trajectory.CallOK || r.Text == "" {
			t.Errorf("read %s: %+v", uri, r)
		}
	})
}
