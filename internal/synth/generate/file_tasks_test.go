package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/synth/folders"
	"hone/internal/synth/programs"
)

// cabinet is a shop whose tools keep files, under other names than the servers that everybody knows have.
func cabinet(t *testing.T) (*shop, []Tool) {
	s := newShop(t)
	at := func(s *stock, args map[string]any, name string) string {
		return filepath.Join(s.dir, fmt.Sprint(args[name]))
	}
	s.tools = map[string]func(*stock, map[string]any) (string, error){
		"ls": func(s *stock, args map[string]any) (text string, err error) {
			entries, err := os.ReadDir(at(s, args, "folder"))
			for _, e := range entries {
				text += e.Name() + "\n"
			}
			return text, err
		},
		"cat": func(s *stock, args map[string]any) (string, error) {
			text, err := os.ReadFile(at(s, args, "file"))
			return string(text), err
		},
		"save": func(s *stock, args map[string]any) (string, error) {
			return "saved", os.WriteFile(at(s, args, "file"), []byte(fmt.Sprint(args["text"])), 0o600)
		},
		"swap": func(s *stock, args map[string]any) (string, error) {
			text, err := os.ReadFile(at(s, args, "file"))
			if err != nil || strings.Count(string(text), fmt.Sprint(args["old_text"])) != 1 {
				return "", errors.Join(err, errors.New("not once"))
			}
			now := strings.Replace(string(text), fmt.Sprint(args["old_text"]), fmt.Sprint(args["new_text"]), 1)
			return "swapped", os.WriteFile(at(s, args, "file"), []byte(now), 0o600)
		},
		"mv": func(s *stock, args map[string]any) (string, error) {
			return "moved", os.Rename(at(s, args, "source"), at(s, args, "target"))
		},
		"seek": func(s *stock, args map[string]any) (text string, err error) {
			root := at(s, args, "folder")
			err = filepath.WalkDir(root, func(file string, e os.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				content, err := os.ReadFile(file)
				for line := range strings.Lines(string(content)) {
					if strings.Contains(line, fmt.Sprint(args["pattern"])) {
						text += strings.TrimPrefix(file, root) + ": " + line
					}
				}
				return err
			})
			return text, err
		},
		"weigh": func(s *stock, args map[string]any) (string, error) {
			info, err := os.Stat(at(s, args, "file"))
			if err != nil {
				return "", err
			}
			return fmt.Sprint(info.Size(), " bytes"), nil
		},
		"rm": func(s *stock, args map[string]any) (string, error) { return "removed", os.Remove(at(s, args, "file")) },
		"mkdir": func(s *stock, args map[string]any) (string, error) {
			return "made", os.Mkdir(at(s, args, "folder"), 0o700)
		},
	}
	of := func(names ...string) string {
		var list []string
		for _, n := range names {
			list = append(list, fmt.Sprintf("%q:{\"type\":\"string\"}", n))
		}
		return `{"type":"object","properties":{` + strings.Join(list, ",") + `},"required":["` +
			strings.Join(names, `","`) + `"]}`
	}
	return s, []Tool{tool("ls", "Shows what is in a folder.", of("folder")), tool("cat", "Shows a file.", of("file")),
		tool("save", "Saves a file.", of("file", "text")), tool("swap", "Puts a text in the place of another.",
			of("file", "old_text", "new_text")), tool("mv", "Moves a file.", of("source", "target")),
		tool("seek", "Finds lines.", of("folder", "pattern")), tool("weigh", "Says a file's size.", of("file")),
		tool("rm", "Removes a file.", of("file")), tool("mkdir", "Makes a folder.", of("folder"))}
}

func TestFileServers(t *testing.T) {
	s, tools := cabinet(t)
	m := newMaker(s, tools, ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), optionsOf(s))
	list, err := m.fileServers(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	want := map[string]string{folders.List: "ls", folders.Show: "cat", folders.Write: "save", folders.Edit: "swap",
		folders.Move: "mv", folders.Delete: "rm", folders.MakeDir: "mkdir",
		folders.Search: "seek", folders.Size: "weigh"}
	for do, name := range want {
		if got := list[0].tools[do]; got.tool == nil || got.tool.Name != name {
			t.Errorf("%s is done by %v, not by %s", do, got.tool, name)
		}
	}
	if len(list[0].tools) != len(want) {
		t.Errorf("%d operations", len(list[0].tools))
	}
	if call := list[0].call(folders.Op{Do: folders.Search, Path: "a", Old: "x"}); string(call.Arguments) !=
		`{"folder":"a","pattern":"x"}` {
		t.Errorf("a search is called with %s", call.Arguments)
	}
	call := list[0].call(folders.Op{Do: folders.Edit, Path: "a/b.txt", Old: "x", New: "y"})
	if string(call.Arguments) != `{"file":"a/b.txt","old_text":"x","new_text":"y"}` {
		t.Errorf("an edit is called with %s", call.Arguments)
	}
	for description, want := range map[string]int{"edits: List of {oldText, newText} dictionaries": 2,
		`Each is {"search": "...", "replace": "..."}`: 2, "a list of {name, value}": 0} {
		if got := statedMembers(description); len(got) != want {
			t.Errorf("%q states %v", description, got)
		}
	}
	other, otherTools := newShop(t), shopTools()
	if list, err := newMaker(other, otherTools, ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")),
		optionsOf(other)).fileServers(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("a shop that writes notes is a file server: %v", err)
	}
}

// Paths that begin at the root are tried on tools that write only where the root is seen to be the session's folder.
func TestNothingIsWrittenIntoTheRoot(t *testing.T) {
	for name, machine := range map[string]string{"the session's folder": "", "the machine": t.TempDir()} {
		s, tools := cabinet(t)
		s.tools["mkdir"] = func(s *stock, args map[string]any) (string, error) {
			return "made", os.MkdirAll(filepath.Join(s.dir, fmt.Sprint(args["folder"])), 0o700)
		}
		for name, inner := range s.tools {
			s.tools[name] = func(st *stock, args map[string]any) (string, error) {
				args = maps.Clone(args)
				for _, of := range []string{"file", "folder", "source", "target"} {
					text, is := args[of].(string)
					if is && !strings.HasPrefix(text, "/") {
						return "", errors.New("it is no whole path")
					}
					if is {
						args[of] = strings.TrimPrefix(text, "/")
					}
				}
				if machine != "" {
					st = &stock{shop: s, dir: machine}
				}
				return inner(st, args)
			}
		}
		m := newMaker(s, tools, ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), optionsOf(s))
		list, err := m.fileServers(t.Context())
		if err != nil || (len(list) == 1) != (machine == "") ||
			len(list) == 1 && list[0].tools[folders.Write].tool == nil {
			t.Errorf("%s: %v %v", name, list, err)
		}
		if machine == "" {
			continue
		}
		if left, err := os.ReadDir(machine); err != nil || len(left) > 0 {
			t.Errorf("%s has %v, %v", name, left, err)
		}
	}
}

// Of a file server all tasks are programs; those that change something check each file, and a second run plays nothing.
func TestFolderPrograms(t *testing.T) {
	s, tools := cabinet(t)
	o := optionsOf(s)
	o.Seed = 2
	path := filepath.Join(t.TempDir(), "work.jsonl")
	l := ledgerIn(t, path)
	made, err := Run(t.Context(), s, tools, l, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range made.Scenarios {
		if !strings.HasPrefix(sc.Provenance.Wording, "asked") {
			t.Errorf("%q says its own call", sc.Task)
		}
	}
	if len(made.Scenarios) < 58 {
		t.Errorf("%d tasks of 60", len(made.Scenarios))
	}
	found, files, placed := 0, 0, 0
	for _, sc := range made.Scenarios {
		if len(sc.Gold) > 1 {
			found++
		}
		writes := slices.ContainsFunc(sc.Gold, func(g scenario.Gold) bool {
			return !slices.Contains([]string{"ls", "cat", "seek", "weigh"}, g.Name)
		})
		has := func(kind string) bool {
			return slices.ContainsFunc(sc.Checks, func(c scenario.Check) bool { return c.Type == kind })
		}
		if writes && !has(scenario.UnchangedCheck) {
			t.Errorf("%q changes something, and nothing checks the rest: %v", sc.Task, sc.Checks)
		}
		looks := map[string]int{}
		for _, c := range sc.Checks {
			if c.Type == scenario.FileCheck {
				looks[c.Path]++
			}
		}
		if len(looks) > 0 {
			files++
		}
		if slices.Contains(slices.Collect(maps.Values(looks)), 2) { // a row that may stand at several places
			placed++
		}
	}
	if found < 30 || files < 10 || placed == 0 {
		t.Errorf("of %d tasks %d need several calls, %d check files, and %d leave the place of a row open",
			len(made.Scenarios), found, files, placed)
	}
	_ = l.Close()
	calls, opens := s.calls["cat"], s.opens
	again, err := Run(t.Context(), s, tools, ledgerIn(t, path), o)
	if err != nil || len(again.Scenarios) != len(made.Scenarios) {
		t.Fatalf("the second run makes %d tasks: %v", len(again.Scenarios), err)
	}
	if s.calls["cat"]-calls > 10 || s.opens-opens > 6 { // what the tools do is tried again
		t.Errorf("the second run reads %d files in %d sessions", s.calls["cat"]-calls, s.opens-opens)
	}
}

// Of the programs that are drawn for a task, one of the rarest pattern is taken, over the files of the fewest tasks.
func TestFilesAreUsedEvenly(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		files[name+".csv"] = name + ",size\n" + name + "x,1\n" + name + "y,2\n" + name + "z,3\n"
	}
	s := &filing{files: &fileServer{tools: map[string]fileTool{folders.List: {}, folders.Show: {}, folders.Write: {}}},
		of: folders.Of(files, nil)}
	draw := func(used fileUse) fileUse {
		seen, r := map[string]bool{}, rand.New(rand.NewPCG(1, 1))
		for range 12 {
			p := s.draw(r, programs.Lookup, seen, used)
			if p == nil {
				t.Fatal("nothing is drawn")
			}
			used.note(p)
			seen[p.Key()] = true
		}
		return used
	}
	if used := draw(fileUse{map[string]int{}, map[string]int{"a.csv": 9, "b.csv": 9}}); used.files["c.csv"] < 6 {
		t.Errorf("%v", used)
	}
	files["d.txt"] = "Closing day: Monday\nDoor code: 44\nLate fee: 3.50\nFuse case: cellar\nDog rule: none\n"
	s.of = folders.Of(files, nil)
	if used := draw(fileUse{map[string]int{"lookup": 9}, map[string]int{"d.txt": 9}}); used.patterns["lookup"] > 13 {
		t.Errorf("%v", used)
	}
}

// A server may write its log into the folder: what it writes when somebody reads is no change, and no task is about it.
func TestServerThatLogs(t *testing.T) {
	s, tools := cabinet(t)
	for name, do := range s.tools {
		s.tools[name] = func(s *stock, args map[string]any) (string, error) {
			log, err := os.OpenFile(filepath.Join(s.dir, "audit.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return "", err
			}
			_, err = fmt.Fprintln(log, name)
			text, failed := do(s, args)
			return text, errors.Join(err, log.Close(), failed)
		}
	}
	made, err := Run(t.Context(), s, tools, ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), optionsOf(s))
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Scenarios) < 58 {
		t.Errorf("%d tasks of 60", len(made.Scenarios))
	}
	for _, sc := range made.Scenarios {
		for _, c := range sc.Checks {
			if c.Path == "audit.log" || c.Type == scenario.UnchangedCheck && !slices.Contains(c.Ignore, "audit.log") {
				t.Errorf("%q checks %s, and ignores %q", sc.Task, c.Path, c.Ignore)
			}
		}
	}
}

// Some edits to train on go wrong before the right one; where a server takes other spaces, none is shown.
func TestMisedits(t *testing.T) {
	for name, lenient := range map[string]bool{"swapped": false, "lenient": true} {
		s, tools := cabinet(t)
		strict := s.tools["swap"]
		s.tools["swap"] = func(s *stock, args map[string]any) (string, error) {
			file := filepath.Join(s.dir, fmt.Sprint(args["file"]))
			text, err := os.ReadFile(file)
			old := fmt.Sprint(args["old_text"])
			if err != nil || !lenient || strings.Contains(string(text), old) {
				return strict(s, args)
			}
			return "swapped", os.WriteFile(file, append(text, fmt.Sprint(args["new_text"])...), 0o600)
		}
		o := optionsOf(s)
		o.N, o.drawnAlone = 400, true
		made, err := Run(t.Context(), s, tools, ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), o)
		if err != nil {
			t.Fatal(err)
		}
		edits, same, spaced, recalled := 0, 0, 0, 0
		for _, sc := range made.Scenarios {
			if sc.Split == scenario.Train && slices.ContainsFunc(sc.Gold, func(g scenario.Gold) bool {
				return g.Name == "swap"
			}) {
				edits++
			}
			for _, slip := range sc.Slips {
				var args map[string]string
				if slip.Name != "swap" || json.Unmarshal(slip.Arguments, &args) != nil {
					continue
				}
				why, next := sc.Gold[slip.Before].Reasoning, "must become"
				switch {
				case args["old_text"] == args["new_text"]:
					same++
				case strings.Contains(why, "I read what it says"):
					recalled++
					next = "no line of"
				default:
					spaced++
				}
				if sc.Split != scenario.Train || !strings.Contains(why, "That edit changed nothing") ||
					!strings.Contains(why, next) {
					t.Errorf("%s: %q is followed by %q", sc.Split, slip.Arguments, why)
				}
			}
		}
		if same == 0 || (spaced+recalled == 0) != lenient || same+spaced+recalled > edits/4 {
			t.Errorf("%s: of %d edits %d change nothing, %d have other spaces, %d are recalled", name, edits, same,
				spaced, recalled)
		}
	}
}

// A third of the programs over a folder are of structures that it has, each in its turn.
func TestStructuresTakeTurns(t *testing.T) {
	of, n, all := map[string]int{}, 0, 0
	structured := strings.Fields("charge_both due_of due_all paid_none paid_told bill_of bills row_move swap_in " +
		"sold_more lent_out lent_back letters_fill letter_fill set_across set_and_tick stock_take " +
		"file_delete_or_move missing_rows rated priced_total files_move_month entries_sum only_add " +
		"set_as line_from line_drop rename_everywhere boxes_collect")
	for seed := range uint64(6) {
		s := &filing{setting: setting{want: 12}, files: &fileServer{tools: map[string]fileTool{folders.List: {},
			folders.Show: {}, folders.Write: {}, folders.Edit: {}, folders.Move: {}, folders.MakeDir: {}}},
			of: folders.Invent(rand.New(rand.NewPCG(seed, 4)), int(seed))}
		used, seen := fileUse{map[string]int{}, map[string]int{}}, map[string]bool{}
		for p := range s.requests(rand.New(rand.NewPCG(seed, 2)), seen, used) {
			if all++; p != nil {
				used.note(p)
				seen[p.Key()] = true
				if slices.Contains(structured, p.Pattern()) {
					of[p.Pattern()]++
					n++
				}
			}
		}
	}
	if len(of) < len(structured)*3/4 || 7*n < 2*all {
		t.Errorf("%d of %d programs are of %d structures: %v", n, all, len(of), of)
	}
}

// Hidden files and those that are no text are not asked about, and known to be there.
func TestFolderKnowsWhatItDoesNotRead(t *testing.T) {
	of := folder{"a.md": []byte("one"), ".gitignore": []byte("x"), "b.png": {0x89, 0, 1}, "in": nil, ".git": nil,
		"in/.env": []byte("y")}.docs()
	if len(of.Docs) != 1 || !slices.Equal(of.Dirs, []string{"in"}) ||
		!slices.Equal(of.Unread, []string{".gitignore", "b.png", "in/.env"}) {
		t.Errorf("%d files, folders %q, unread %q", len(of.Docs), of.Dirs, of.Unread)
	}
}
