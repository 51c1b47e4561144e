package packages

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The entries of testdata have the forms that Smithery's and Glama's OpenAPI documents say.
func TestOtherLists(t *testing.T) {
	p, err := Decode(fileOf(t, "smithery.json"), "smithery")
	if err != nil || len(p.Entries) != 3 || len(p.Skipped) > 0 || p.Entries[0].Name != "@smithery-ai/github" ||
		p.Entries[1].Name != "exa" || p.Entries[1].Uses != 9999 || p.Entries[0].From != "smithery" ||
		p.Entries[2].Status != "inactive" {
		t.Errorf("%+v %v", p, err)
	}
	p, err = Decode(fileOf(t, "smithery-one.json"), "smithery")
	if err != nil || len(p.Entries) != 1 {
		t.Fatalf("%+v %v", p, err)
	}
	c, err := p.Entries[0].Choose()
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.Fill(map[string]string{"organisation": "acme", "x-github-token": "ghp_secret"})
	if err != nil || l.URL != "https://github.run.tools?org=acme" ||
		l.Headers["x-github-token"] != "${X_GITHUB_TOKEN}" || l.Secrets["X_GITHUB_TOKEN"] != "ghp_secret" {
		t.Errorf("%+v %v", l, err)
	}
	p, err = Decode(fileOf(t, "smithery-bundle.json"), "smithery")
	if err != nil || len(p.Entries) != 1 || strings.Join(p.Entries[0].Kinds(), ",") != "bundle" ||
		len(p.Entries[0].Needs()) != 1 || !p.Entries[0].Needs()[0].Secret {
		t.Fatalf("%+v %v", p, err)
	}
	if _, err := p.Entries[0].Choose(); err == nil || !strings.Contains(err.Error(), "no hash") ||
		!strings.Contains(err.Error(), "https://bundles.example.com/author/notes.mcpb") {
		t.Error(err)
	}
	p, err = Decode(fileOf(t, "glama.json"), "glama")
	if err != nil || len(p.Entries) != 3 || len(p.Skipped) > 0 || p.Entries[0].Name != "systeminit/si" ||
		!p.Entries[0].Asks[0].IsSecret || !p.Entries[0].Asks[0].IsRequired ||
		p.Entries[0].Asks[1].Default != "https://api.systeminit.com" {
		t.Fatalf("%+v %v", p, err)
	}
	if _, err := p.Entries[0].Choose(); err == nil || !strings.Contains(err.Error(), "github.com/systeminit/si") {
		t.Error(err)
	}
	var asks []string // of alternatives none is required by itself
	for _, n := range p.Entries[1].Needs() {
		asks = append(asks, n.Name+map[bool]string{true: "!"}[n.Required]+n.Description)
	}
	if one := "(one is needed of MAIL_PASSWORD, MAIL_TOKEN)"; strings.Join(asks,
		";") != "MAIL_HOST!;MAIL_PASSWORD"+one+";MAIL_TOKEN"+one+";MAIL_USER!Who reads" {
		t.Errorf("%q", asks)
	}
	p, err = DecodeFile(fileOf(t, "mcp.json"), "mcp.json")
	var kinds []string
	for _, e := range p.Entries {
		kinds = append(kinds, e.Name+":"+strings.Join(e.Kinds(), ","))
	}
	if err != nil || strings.Join(kinds, " ") != "docs:url github:command memory:npm own:command time:pypi" {
		t.Errorf("%q %v %q", kinds, err, p.Skipped)
	}
	if _, needs, ok := p.Entries[1].Command(); ok && len(needs) == 0 {
		t.Error("an entry that asks for a variable of this machine is started as it is")
	}
	if _, needs, ok := p.Entries[3].Command(); !ok || len(needs) > 0 {
		t.Error("an entry that asks for nothing is not started")
	}
}

// Smithery pages by number and Glama by the end of the page, each under its own names for the same things.
func TestOtherPages(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		q := r.URL.Query()
		switch {
		case q.Has("pageSize") && q.Get("page") == "":
			fmt.Fprint(w, `{"servers":[{"qualifiedName":"a/one"}],"pagination":{"currentPage":1,"totalPages":2}}`)
		case q.Has("pageSize"):
			fmt.Fprintf(w, `{"servers":[{"qualifiedName":"a/page%s"}],"pagination":{"currentPage":2,"totalPages":2}}`,
				q.Get("page"))
		case q.Get("after") == "":
			fmt.Fprint(w,
				`{"servers":[{"namespace":"g","slug":"one"}],"pageInfo":{"hasNextPage":true,"endCursor":"c2"}}`)
		default:
			fmt.Fprintf(w,
				`{"servers":[{"namespace":"g","slug":"%s"}],"pageInfo":{"hasNextPage":false,"endCursor":"c3"}}`,
				q.Get("after"))
		}
	}))
	defer server.Close()
	for form, want := range map[string]string{"smithery": "a/page2", "glama": "g/c2"} {
		source, err := ParseSource(form + "=" + server.URL)
		if err != nil {
			t.Fatal(err)
		}
		f, err := (Client{}).List(t.Context(), source, Query{})
		if err != nil || len(f.Entries) != 2 || f.Entries[1].Name != want {
			t.Errorf("%s: %+v %v, asked %q", form, f, err, asked)
		}
	}
}

// Smithery's list does not say how its servers are run: the page of each does, also of one whose name has no slash. Its
// pages overlap, and end before all that it counts.
func TestSmitheryPages(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.EscapedPath())
		switch page := r.URL.Query().Get("page"); {
		case strings.HasSuffix(r.URL.Path, "hidden") || r.URL.Path == "/a/two":
			fmt.Fprintf(w, `{"qualifiedName":%q,"connections":[{"type":"http","deploymentUrl":"https://two.run.tools","configSchema":{}}]}`, r.URL.Path[1:])
		case r.URL.Path != "/":
			http.Error(w, `{"error":"Server not found"}`, http.StatusNotFound)
		case page == "":
			fmt.Fprint(w, `{"servers":[{"qualifiedName":"exa"},{"qualifiedName":"a/two","useCount":3}],"pagination":{"currentPage":1,"pageSize":2,"totalPages":2,"totalCount":11}}`)
		default:
			fmt.Fprint(w, `{"servers":[{"qualifiedName":"a/two"},{"qualifiedName":"a/three"}],"pagination":{"currentPage":2,"pageSize":2,"totalPages":2,"totalCount":11}}`)
		}
	}))
	defer server.Close()
	source, err := ParseSource("smithery=" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f, err := (Client{}).List(t.Context(), source, Query{})
	if err != nil || len(f.Entries) != 3 || f.More || f.Kept != 7 {
		t.Fatalf("%+v %v", f, err)
	}
	for name, path := range map[string]string{
		"hidden":   "/hidden",
		"a/hidden": "/a%2Fhidden",
		"a/two":    "/a%2Ftwo",
		"two":      "/a%2Ftwo",
	} {
		e, err := (Client{}).Get(t.Context(), source, name)
		if err != nil || asked[len(asked)-1] != path {
			t.Fatalf("%s: asked %q, %v", name, asked, err)
		}
		if c, err := e.Choose(); err != nil || c.Remote.URL != "https://two.run.tools" {
			t.Errorf("%s: %+v %v", name, c, err)
		}
	}
	if e, err := (Client{}).Whole(t.Context(), source, f.Entries[1]); err != nil || e.Uses != 3 || len(e.Remotes) != 1 {
		t.Errorf("%+v %v", e, err)
	}
}
