package view

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/blob"
	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/report"
)

// mostOfReport is how many bytes of trajectories a report takes.
const mostOfReport = 15 << 20

// WriteReport writes the page of a run into its folder, as one file that opens without a server and can be sent: the
// screens of hone view with their data, but for the tokens. Of many trajectories it takes the evaluated ones first,
// then the last validation's, then the worst and the best groups of training, then others, as there is room. p and n
// are what the run knows of its evaluations.
func WriteReport(e job.Env, path string, p report.Page, n report.Numbers) error {
	files, err := pageFiles()
	if err != nil {
		e.Say("note: no %s, since %s; make build with Node makes one that has it", report.HTMLFile,
			fault.InnerText(err))
		return nil
	}
	s := &Server{Env: e, Runs: []string{path}, ends: true}
	s.open()
	defer s.close()
	f := s.runs[0]
	var answers bytes.Buffer
	b := &bundle{server: s, files: map[string]string{}, put: func(_, question string, answer []byte) error {
		// JSON of this encoder has no < in it, so that nothing in it ends the element
		_, err := fmt.Fprintf(&answers, "<script type=\"application/json\" data-question=\"%s\">%s</script>\n",
			html.EscapeString(question), sanitize.Text(string(answer)))
		return err
	}}
	err = records.ReadLedger(path, func(l *run.Ledger) error {
		_, err := f.index.read(l, func() {})
		return err
	})
	if err != nil {
		return err
	}
	b.keep("runs", "", s.list())
	b.keep(questionKey(f.Key, "evaluation", nil), "", evaluationOf(p, n))
	b.screens(f, "")
	held := b.episodes(f, n, func() bool { return answers.Len() < mostOfReport })
	b.keep(questionKey(f.Key, "rows", map[string]string{"since": "0"}), "", f.index.only(held))
	if b.err != nil {
		return b.err
	}
	start := "overview"
	if len(n.Order) > 0 && len(n.Stages) == 0 {
		start = "evaluation"
	}
	page, err := oneFile(files, "#/"+url.PathEscape(f.Key)+"/"+start, answers.String())
	if err == nil {
		err = blob.Write(filepath.Join(path, report.HTMLFile), page, 0o644)
	}
	if err != nil {
		return &fault.Error{Code: fault.CodeError, What: "cannot write the report", Where: path, Err: err,
			Next: "make room there, then hone runs report"}
	}
	return nil
}

// episodes keeps trajectories and their groups as long as there is room, and returns those that it kept, in the order
// of the run.
func (b *bundle) episodes(f *followed, n report.Numbers, room func() bool) (held []*row) {
	x := &f.index
	extreme := map[string]bool{}
	for _, g := range slices.Concat(n.Worst, n.Best) {
		extreme[fmt.Sprint(g.Stage, " ", g.Step, " ", g.ScenarioID)] = true
	}
	validated := 0
	for i := range x.rows {
		if r := &x.rows[i]; x.stages.names[r.stage] == recipe.ValidationStage {
			validated = max(validated, r.step)
		}
	}
	rank := func(r *row) int {
		stage := x.stages.names[r.stage]
		switch {
		case strings.HasPrefix(stage, report.EvalStage):
			return 0
		case stage == recipe.ValidationStage && r.step == validated:
			return 1
		case extreme[fmt.Sprint(stage, " ", r.step, " ", x.scenarios.names[r.scenario])]:
			return 2
		}
		return 3
	}
	order := make([]*row, len(x.rows))
	for i := range x.rows {
		order[i] = &x.rows[i]
	}
	slices.SortStableFunc(order, func(a, b *row) int { return cmp.Compare(rank(a), rank(b)) })
	groups := map[string]bool{}
	for _, r := range order {
		if !room() || b.err != nil {
			break
		}
		held = append(held, r)
		b.ask(f, "episode", "", map[string]string{"id": r.id})
		of := map[string]string{"stage": x.stages.names[r.stage], "step": fmt.Sprint(r.step),
			"scenario": x.scenarios.names[r.scenario]}
		if key := questionKey(f.Key, "group", of); !groups[key] {
			groups[key] = true
			b.ask(f, "group", "", of)
		}
	}
	slices.SortStableFunc(held, func(a, b *row) int { return cmp.Compare(a.place, b.place) })
	return held
}

// oneFile is the page with its script, its style and answers in it. Its policy knows the first two by their hashes, and
// lets nothing else run or load.
func oneFile(files fs.FS, start, answers string) ([]byte, error) {
	script, err := fs.ReadFile(files, scriptFile)
	if err != nil {
		return nil, err
	}
	style, err := fs.ReadFile(files, styleFile)
	if err != nil {
		return nil, err
	}
	for _, ends := range []string{"</script", "<!--", "</style"} {
		if bytes.Contains(script, []byte(ends)) || bytes.Contains(style, []byte(ends)) {
			return nil, fmt.Errorf("the page's own text holds %s, so it cannot stand in one file", ends)
		}
	}
	hash := func(text []byte) string {
		sum := sha256.Sum256(text)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<!doctype html>
<html lang="en" data-start="%s">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>hone</title>
<link rel="icon" href="data:,">
<style>%s</style>
</head>
<body>
<div id="page"><p class="quiet">Loading ...</p></div>
<noscript>This page is a program in JavaScript, which is switched off here.</noscript>
%s<script>%s</script>
</body>
</html>
`, html.EscapeString(start), hash(script), hash(style), style, answers, script)
	return out.Bytes(), nil
}
