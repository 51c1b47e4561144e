package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/data/overlap"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/report"
)

func html(t interface{ Fatal(...any) }, p report.Page) string {
	var b bytes.Buffer
	if err := p.WriteHTML(&b, p.Numbers()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// own is the page's one style and one script, whose text is the package's.
var own = regexp.MustCompile(`(?s)<style>(.*?)</style>|<script>(.*?)</script>`)

// element is a tag with the names of its attributes.
type element struct {
	name  string
	attrs map[string]string
}

// elements reads the page with every element closed in order, which HTML allows and this template keeps to, and returns
// its elements and its text.
func elements(page string) (list []element, text string, err error) {
	d := xml.NewDecoder(strings.NewReader(own.ReplaceAllString(page, "<own/>")))
	d.Entity = xml.HTMLEntity
	var b strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list, b.String(), nil
		}
		if err != nil {
			return nil, "", err
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := element{x.Name.Local, map[string]string{}}
			for _, a := range x.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			list = append(list, e)
		case xml.CharData:
			b.Write(x)
		}
	}
}

// skeleton is the page's elements with the names of their attributes.
func skeleton(t interface{ Fatal(...any) }, page string) (names []string, text string) {
	list, text, err := elements(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		var attrs []string
		for a := range e.attrs {
			attrs = append(attrs, a)
		}
		slices.Sort(attrs)
		names = append(names, fmt.Sprint(e.name, attrs))
	}
	return names, text
}

// writtenBy is a page in which every text that a server, a model, a file of scenarios or a folder's name may hold is s.
func writtenBy(s string) report.Page {
	call := chat.ToolCall{ID: s, Name: s, Arguments: s}
	result := trajectory.ToolResult{Call: call, Status: trajectory.CallToolError, Text: s, Error: "e" + s,
		Warning: "w" + s, Approval: "a" + s}
	t := func(score float64) *trajectory.Trajectory {
		return &trajectory.Trajectory{
			ID:         s,
			ScenarioID: s,
			Outcome:    trajectory.OK,
			StopReason: trajectory.StopCompleted,
			Error:      "E" + s,
			Messages: []chat.Message{
				{Role: chat.System, Content: s}, {Role: chat.User, Content: s}, {Role: chat.Assistant, Content: s,
					ReasoningContent: s, ToolCalls: []chat.ToolCall{call}},
				{Role: chat.ToolRole, Name: s, Content: s},
			},
			Turns: []trajectory.Turn{{Results: []trajectory.ToolResult{result}}},
			Terms: []trajectory.Term{
				{Name: "checks", Score: score, Weight: 1, Why: "checks[0] (call): " + s},
				{Name: s, Why: "t" + s},
			},
			Seen:   []trajectory.Observation{{Look: s, Text: s}},
			Stderr: map[string]string{s: "S" + s},
		}
	}
	row := stats.Row{ScenarioID: s, Kind: "k" + s, NumGold: 1, Tags: []string{"t:" + s}, Tools: []string{s}}
	was, is := row, row
	was.Episode = true
	p := report.Page{Title: s, Verb: s, Facts: []report.Fact{{Name: "n" + s, Value: "v" + s}},
		Notes: []string{"n" + s}, Show: s}
	p.Systems = []stats.System{
		{Name: "old", Rows: []stats.Row{was}, Episodes: []stats.Example{{Title: s, Trajectory: t(1)}}},
		{Name: "new", Rows: []stats.Row{is}, Episodes: []stats.Example{{Title: s, Trajectory: t(0)}},
			Excluded: map[trajectory.Outcome]int{trajectory.Outcome("o" + s): 1}},
	}
	p.TrainedOn, p.NumResamples = []string{s}, 10
	p.NearTrained = []overlap.Near{{ScenarioID: s, Source: overlap.Source{Name: s, Where: s, Text: s}}}
	p.Parts = []stats.Part{{Name: "p" + s, Seconds: 1}}
	p.Stages = []report.Stage{
		{Name: s, Steps: []report.Step{{Number: 1, Values: map[string]float64{"loss": 1, "m" + s: 2}}}},
	}
	p.Groups = []report.Group{
		{Stage: s, ScenarioID: s, Rewards: []float64{1, 0},
			Episodes: []stats.Example{{Title: s, Trajectory: t(0)}, {Title: s, Trajectory: t(1)}}},
	}
	p.Episodes = []stats.Example{{Title: s, Trajectory: t(1)}}
	return p
}

var hostile = []string{
	`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`,
	`<a href="javascript:alert(1)">x</a>`, `data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==`,
	`</style><style>*{display:none}</style>`, `<!-- `, `]]>`, `<svg onload=alert(1)>`, `{{.Policy}}`, "`${alert(1)}`",
	`&lt;script&gt;`, `<iframe srcdoc="<script>alert(1)</script>">`, `</title><meta http-equiv=refresh content=0>`,
	`</details></main></body>`,
	`<base href="http://evil.test/">`, "\u202Egnp.exe", "a\x00b", "\x1b[2J", "\xff\xfe", `javascript:alert(1)//`,
	`http://evil.test/x.js`,
}

// Whatever a server or a model wrote, the page's elements and attributes are those of a page in which it wrote nothing
// special.
func TestHostileText(t *testing.T) {
	plain, _ := skeleton(t, html(t, writtenBy("plain")))
	for _, s := range hostile {
		got, text := skeleton(t, html(t, writtenBy(s)))
		if !slices.Equal(got, plain) {
			t.Errorf("%q changed the page's elements", s)
		}
		if strings.Count(text, s) < 20 && !strings.ContainsAny(s, "\x00\x1b\u202E") && utf8.ValidString(s) {
			t.Errorf("%q is shown %d times", s, strings.Count(text, s))
		}
		if strings.ContainsAny(text, "\u202E\x00\x1b") {
			t.Errorf("%q: a hidden character is in the page", s)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := "x" + rapid.StringOf(rapid.RuneFrom([]rune("<>\"'`&;:/={}()\\-! \n\tabscript\u202e\u2028é"))).Draw(t,
			"text")
		if got, _ := skeleton(t, html(t, writtenBy(s))); !slices.Equal(got, plain) {
			t.Fatalf("%q changed the page's elements", s)
		}
	})
}

// The page loads nothing, asks nothing, and forbids both: the policy takes its own style and script alone.
func TestSelfContained(t *testing.T) {
	for name, p := range map[string]report.Page{"sample": sample(12), "hostile": writtenBy(hostile[0]), "empty": {}} {
		page := html(t, p)
		list, _, err := elements(page)
		if err != nil {
			t.Fatal(name, err)
		}
		policy := ""
		for _, e := range list {
			if e.attrs["http-equiv"] == "Content-Security-Policy" {
				policy = e.attrs["content"]
			}
			for a, v := range e.attrs {
				allowed := a != "src" && a != "srcset" && a != "style" && a != "action" && a != "data" &&
					a != "srcdoc" && !strings.HasPrefix(a, "on")
				if a == "href" {
					allowed = strings.HasPrefix(v, "#")
				}
				if !allowed || slices.Contains([]string{"script", "link", "iframe", "object", "base", "form", "img"},
					e.name) {
					t.Errorf("%s: <%s %s=%q>", name, e.name, a, v)
				}
			}
		}
		found := own.FindAllStringSubmatch(page, -1)
		if len(found) != 2 || strings.Contains(found[0][1], "url(") || strings.Contains(found[0][1], "@import") {
			t.Fatalf("%s: %d own texts", name, len(found))
		}
		hash := func(s string) string {
			sum := sha256.Sum256([]byte(s))
			return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		}
		want := "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(found[0][1]) +
			"; script-src " + hash(found[1][2])
		if policy != want {
			t.Errorf("%s: policy %s, want %s", name, policy, want)
		}
	}
}

// The headline holds the last system against the stage before and against the base; what got worse comes first, side by
// side.
func TestSampleShows(t *testing.T) {
	page := html(t, sample(60))
	_, text, err := elements(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"grpo against sft", "grpo against base", "sft − base", "grpo below sft", "Episodes in no rate",
		"environment error", "By kind", "By wording", "By tool", "Terms of the reward", "Loss",
		"bold: mean of the last 4 steps", "2 more metrics", "Success", "Worst", "Best", "grpo, step 0", "rollout 3",
		"6 min 52 s", "eval_grpo/demo-test-00003/0/0", "the answer holds no \"5\"",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	results := sample(60).Results()
	for _, d := range results.Deltas {
		if d.New != "grpo" || len(d.Regressions) == 0 {
			continue
		}
		if want := fmt.Sprintf("%s does %d of 60 less often than %s",
			d.New, len(d.Regressions), d.Old); !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	lost := results.Deltas[1].Regressions
	regressions := page[strings.Index(page, `id="worse"`):strings.Index(page, `id="by"`)]
	if results.Deltas[1].Old != "sft" || len(lost) == 0 {
		t.Fatalf("the sample has no regression of grpo against sft: %+v", results.Deltas[1])
	}
	for _, c := range lost {
		for _, system := range []string{"base", "sft", "grpo"} {
			if !strings.Contains(regressions, "eval_"+system+"/"+c.ScenarioID+"/0/0") {
				t.Errorf("the regression %s lacks the episode of %s", c.ScenarioID, system)
			}
		}
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "%!") {
		t.Error("a number is not one")
	}
}

// A comparison with pairs of its own, as of arms that begin at one start, has them all in its headline.
func TestOwnPairs(t *testing.T) {
	p := sample(12)
	p.Pairs = []stats.Pair{{Old: "base", New: "sft"}, {Old: "base", New: "grpo"}, {Old: "grpo", New: "sft"}}
	_, text, err := elements(html(t, p))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sft against base", "grpo against base", "sft against grpo"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A page keeps within its room: long texts are cut, episodes without room are named and counted, and nothing is
// silently gone.
func TestRoom(t *testing.T) {
	p := big(2000)
	page := html(t, p)
	if len(page) > 20<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	text := page
	named := strings.Count(text, `<p class="name"><code>eval_model/`) +
		strings.Count(text, "<code>hone runs show big --episode eval_model/")
	folded := strings.Count(text, "The page has no room for this episode.")
	if named != 2000 ||
		folded == 0 || !strings.Contains(text, fmt.Sprintf("The page has no room for %d episodes", folded)) ||
		!strings.Contains(text, "hone runs show big --episode eval_model/") {
		t.Errorf("%d episodes are named, %d are folded", named, folded)
	}
	if !strings.Contains(text, "bytes more are left out.") {
		t.Error("no text was cut")
	}
	small := html(t, sample(60))
	if strings.Contains(small, "has no room for") {
		t.Error("a small page has no room")
	}
}

// Of a property with very many values those of the most scenarios are shown, and the page says how many are not.
func TestManyValues(t *testing.T) {
	p := sample(60)
	p.Systems = p.Systems[1:] // of one that does nothing no power is told
	for i, s := range p.Systems {
		for k := range s.Rows {
			p.Systems[i].Rows[k].Tags = append(s.Rows[k].Tags, fmt.Sprint("day:", k))
			p.Systems[i].Rows[k].Family = fmt.Sprint(k / 4)
		}
	}
	text := html(t, p)
	if !strings.Contains(text, "The 50 values of the most scenarios are shown. Left out: 10.") ||
		strings.Count(text, "Left out:") != 1 {
		t.Error("the page does not say what it leaves out")
	}
	if !strings.Contains(text, "A family of scenarios has 4 of them, whose differences correlate by 0.") {
		t.Error("the power does not know of families")
	}
	if !strings.Contains(text, ", too few") {
		t.Error("the page does not say where outcomes are too few")
	}
}

// big is a page of n episodes, each with a result of 30 kB that markup makes longer.
func big(n int) report.Page {
	r := rand.New(rand.NewPCG(1, 1))
	p := report.Page{Title: "big", Verb: "hone eval", Show: "hone runs show big --episode"}
	s := stats.System{Name: "model"}
	for k := range n {
		id := fmt.Sprintf("task-%05d", k)
		t := episode(id, "long", k%3 != 0, 0, r)
		t.Messages[3].Content = strings.Repeat(`{"path": "<b>", "size": 7}, `, 1_100)
		s.Rows = append(s.Rows, stats.Row{ScenarioID: id, NumGold: 1, Episode: k%3 != 0})
		s.Episodes = append(s.Episodes, stats.Example{Title: "eval_model/" + t.ID, Trajectory: t})
	}
	p.Systems = []stats.System{s}
	return p
}

// What a person waits for: 2,000 trajectories of 30 kB each.
func BenchmarkPage(b *testing.B) {
	p := big(2000)
	for b.Loop() {
		var page bytes.Buffer
		if err := p.WriteHTML(&page, p.Numbers()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(page.Len()), "bytes")
	}
}

// The results of an opening were given: statuses stand at the episode's own calls.
func TestResultsStandAtTheirCalls(t *testing.T) {
	e := episode("x", "count words", true, 0, rand.New(rand.NewPCG(1, 1)))
	given := []chat.Message{
		e.Messages[0], {Role: chat.User, Content: "earlier"}, {Role: chat.Assistant,
			ToolCalls: []chat.ToolCall{{ID: "0", Name: "old", Arguments: "{}"}}},
		{Role: chat.ToolRole, Name: "old", Content: "then"}, {Role: chat.Assistant, Content: "so"}, {Role: chat.User,
			Content: "and now?"},
	}
	e.Messages, e.Opening = append(given, e.Messages[2:]...), len(given)
	page := html(t, report.Page{Episodes: []stats.Example{{Title: "x", Trajectory: e}}})
	if !strings.Contains(page, `tool <b>old</b></span>`) ||
		!strings.Contains(page, `tool <b>count</b> <em class="status ok">ok</em>`) {
		t.Error("the status of a result is at another call")
	}
	page = html(t, report.Page{Groups: []report.Group{{Stage: "grpo", ScenarioID: "x", Rewards: []float64{1, 0},
		Episodes: []stats.Example{{Title: "x", Trajectory: e}, {Title: "y", Trajectory: e}}}}})
	if !strings.Contains(page, "and now?") {
		t.Error("the task is not on the page")
	}
}
