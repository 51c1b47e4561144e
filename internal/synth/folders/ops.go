package folders

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// What an operation does.
const (
	Tree    = "tree"     // shows all files and folders in Path
	List    = "list"     // shows what is directly in Path
	Sizes   = "sizes"    // the same with sizes
	Show    = "read"     // shows the text of Path
	ShowAll = "read_all" // shows the texts of Paths
	Search  = "search"   // shows the lines with Old of all files below Path
	Size    = "size"     // says how many bytes Path has
	Edit    = "edit"     // puts New in the place of Old, which stands in Path once
	Write   = "write"    // gives Path the text New, whether it is there or not
	MakeDir = "mkdir"    // makes the folder Path
	Move    = "move"     // moves Path to To
	Delete  = "delete"   // removes the file Path
)

// Op is an operation on a folder.
type Op struct {
	Do       string
	Path, To string
	Paths    []string
	Old, New string
	Slip     string // how it goes wrong, "" where it does not
	Why      string // how somebody comes to it who has read the files; "": the request says it
}

// How an operation goes wrong, which shows how one goes on.
const (
	Refused = "refused" // there is no such file or folder
	Idle    = "idle"    // an edit changes nothing, whatever the server says of it
)

// Changes reports whether it changes the folder.
func (o Op) Changes() bool {
	return slices.Contains([]string{Edit, Write, MakeDir, Move, Delete}, o.Do)
}

// Can says which operations a server's tools do.
type Can map[string]bool

// State is what a folder holds: the texts of its files by path. Folders have IsDir.
type State map[string]string

// IsDir stands in the place of a folder's text.
const IsDir = "\x00folder"

// State is what the folder holds.
func (f *Folder) State() State {
	s := State{}
	for _, d := range f.Dirs {
		s[d] = IsDir
	}
	for _, d := range f.Docs {
		s[d.Path] = d.Text
	}
	return s
}

// IsDir reports whether a folder is at a path.
func (s State) IsDir(file string) bool { return s[file] == IsDir }

// Apply makes the operations; ok is false where one of them cannot be made.
func (s State) Apply(ops []Op) (State, bool) {
	s = maps.Clone(s)
	for _, o := range ops {
		if o.Slip != "" {
			continue
		}
		_, there := s[o.Path]
		switch o.Do {
		case Edit:
			if s.IsDir(o.Path) || strings.Count(s[o.Path], o.Old) != 1 {
				return nil, false
			}
			s[o.Path] = strings.Replace(s[o.Path], o.Old, o.New, 1)
		case Write:
			if s.IsDir(o.Path) || !s.parent(o.Path) {
				return nil, false
			}
			s[o.Path] = o.New
		case MakeDir:
			if there || !s.parent(o.Path) {
				return nil, false
			}
			s[o.Path] = IsDir
		case Move:
			if _, taken := s[o.To]; !there || s.IsDir(o.Path) || taken || !s.parent(o.To) {
				return nil, false
			}
			s[o.To] = s[o.Path]
			delete(s, o.Path)
		case Delete:
			if !there || s.IsDir(o.Path) {
				return nil, false
			}
			delete(s, o.Path)
		}
	}
	return s, true
}

// parent reports whether the folder that a path is in is there.
func (s State) parent(file string) bool {
	dir := path.Dir(file)
	return dir == "." || s.IsDir(dir)
}

// look notes an operation that only looks, once. Where all files together are short, they are read by one call, so that
// nobody has to guess which has what. A file that the request names is read alone (read).
func (d *drawer) look(o Op) {
	if d.whole && slices.Contains([]string{Show, ShowAll, Search}, o.Do) {
		if !d.wholeRead() {
			d.everywhere()
			d.ops = append(d.ops, Op{Do: ShowAll, Paths: d.f.paths()})
		}
		if o.Do != Search && o.Why != "" {
			d.note(o.Why)
		}
		return
	}
	d.once(o)
}

// once notes an operation that only looks, once.
func (d *drawer) once(o Op) {
	key := o.Do + " " + o.Path + " " + o.Old + strings.Join(o.Paths, " ")
	if !d.seen[key] {
		d.seen[key] = true
		d.ops = append(d.ops, o)
	}
}

// wholeRead reports whether all files were read by one call.
func (d *drawer) wholeRead() bool {
	return d.whole && slices.ContainsFunc(d.ops, func(o Op) bool { return o.Do == ShowAll })
}

// aroundFile is about what a server puts around the text of each of several files, in bytes.
const aroundFile = 60

// isShort reports whether all files of a folder are shown where they are read by one call.
func (f *Folder) isShort() bool {
	n := 0
	for _, d := range f.Docs {
		n += len(d.Text) + strings.Count(d.Text, "\n") + len(d.Path) + aroundFile
	}
	return n <= f.Shown/10*9 && len(f.Docs) > 1
}

// paths are those of all files.
func (f *Folder) paths() (list []string) {
	for _, d := range f.Docs {
		list = append(list, d.Path)
	}
	return list
}

// around looks around until a folder has been seen: by the tree, or folder by folder.
func (d *drawer) around(dir string) {
	if d.deep {
		d.look(Op{Do: Tree, Path: "."})
		return
	}
	d.look(Op{Do: List, Path: "."})
	if dir == "." {
		return
	}
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, part)
		d.look(Op{Do: List, Path: at})
	}
}

// everywhere looks at all folders.
func (d *drawer) everywhere() {
	if d.deep {
		d.look(Op{Do: Tree, Path: "."})
		return
	}
	d.look(Op{Do: List, Path: "."})
	for _, dir := range d.f.Dirs {
		d.look(Op{Do: List, Path: dir})
	}
}

// change notes an operation that changes something.
func (d *drawer) change(o Op) { d.ops = append(d.ops, o) }

// putLine gives a line of a file another text, or takes it out where with is nil.
func (d *drawer) putLine(doc *Doc, at int, with *string) {
	lines := doc.lines()
	now := slices.Clone(lines)
	if with != nil {
		now[at] = *with
	} else {
		now = slices.Delete(now, at, at+1)
	}
	d.rewrite(doc, lines, now)
}

// addLine puts a line behind another one.
func (d *drawer) addLine(doc *Doc, behind int, text string) {
	lines := doc.lines()
	d.rewrite(doc, lines, slices.Insert(slices.Clone(lines), behind+1, text))
}

// mostEdits bounds the edits of one file: of more, it is written whole.
const mostEdits = 4

// mostGone bounds the lines that go of which each is quoted: a request changes no more rows of a table.
const mostGone = 8

// left are the lines of a text that another one leaves out, by their numbers; nil where that has lines of its own.
func left(was, now []string) (gone []int) {
	for i, line := range was {
		if len(now) > 0 && now[0] == line {
			now = now[1:]
		} else {
			gone = append(gone, i)
		}
	}
	if len(now) > 0 {
		return nil
	}
	return gone
}

// rewrite changes the lines of a file by an edit of as little as tells the place, by one for each of a few lines, or
// else by writing it whole.
func (d *drawer) rewrite(doc *Doc, was, now []string) {
	for _, edits := range [][]Op{doc.replaced(was, now, (*Doc).run), doc.replaced(was, now, wholeLine),
		doc.without(was, now)} {
		after, ok := State{doc.Path: doc.Text}.Apply(edits)
		if d.can[Edit] && ok && len(edits) <= mostEdits && after[doc.Path] == strings.Join(now, "\n") {
			d.ops = append(d.ops, edits...)
			return
		}
	}
	text, why := strings.Join(now, "\n"), ""
	first, last := endsAlike(was, now)
	switch gone := left(was, now); {
	case 0 < len(gone) && len(gone) <= mostGone:
		why = doc.goes(gone)
	case first < len(was)-last:
		why = doc.quote(first)
	case first > 0 && strings.TrimSpace(was[first-1]) != "":
		why = "The new line comes behind this one of " + doc.quote(first-1) + "\nThe new line: " +
			strings.TrimSpace(strings.Join(now[first:len(now)-last], "\n"))
	}
	if from, to := first, len(was)-last; d.can[Edit] && len(was) > 0 {
		if from == to || len(now)-last == from { // something comes in or goes: the line before says where
			if from > 0 {
				from--
			} else {
				to = min(to+1, len(was))
			}
		}
		for range 3 {
			old := strings.Join(was[from:to], "\n")
			with := strings.Join(now[from:len(now)-(len(was)-to)], "\n")
			if strings.TrimSpace(old) != "" && strings.Count(doc.Text, old) == 1 {
				d.change(Op{Do: Edit, Path: doc.Path, Old: old, New: with, Why: why})
				return
			}
			if from == 0 {
				break
			}
			from--
		}
	}
	d.change(Op{Do: Write, Path: doc.Path, New: text, Why: why})
}

// replaced are edits for each line that has another text; nil where lines come in or go.
func (d *Doc) replaced(was, now []string, part func(*Doc, string, string) (old, with string)) (edits []Op) {
	for i := range was {
		switch {
		case len(was) != len(now):
			return nil
		case was[i] != now[i]:
			old, with := part(d, was[i], now[i])
			why := "It becomes: " + strings.TrimSpace(with)
			if old != was[i] {
				why = old + " becomes " + with
			}
			edits = append(edits, Op{Do: Edit, Path: d.Path, Old: old, New: with, Why: d.quote(i) + "\n" + why})
		}
	}
	return edits
}

// endsAlike is how many elements two lists begin with alike, and how many of the others they end with.
func endsAlike[E comparable](was, now []E) (first, last int) {
	for first < min(len(was), len(now)) && was[first] == now[first] {
		first++
	}
	for last < min(len(was), len(now))-first && was[len(was)-1-last] == now[len(now)-1-last] {
		last++
	}
	return first, last
}

func wholeLine(_ *Doc, was, now string) (old, with string) { return was, now }

// cellMark is what stands between the cells of a line, and what pads them.
var cellMark = regexp.MustCompile(`\s*[,|\t]\s*|\s{2,}`)

// run is the shortest run of cells of a line that stands nowhere else in the file and has all that changes, with what
// takes its place. Where no wide gap is copied for that, it has a second cell, which ties it to its row. It is the
// whole line where none is shorter.
func (d *Doc) run(was, now string) (old, with string) {
	first, last := endsAlike([]byte(was), []byte(now))
	var cells [][2]int // where each begins and ends
	from, least := 0, 2
	for _, at := range append(cellMark.FindAllStringIndex(was, -1), []int{len(was), len(was)}) {
		if at[0] > 0 && (from < len(was) || !strings.HasSuffix(was, "|")) {
			cells = append(cells, [2]int{from, at[0]})
		}
		if from = at[1]; at[1]-at[0] > 1 && strings.TrimSpace(was[at[0]:at[1]]) == "" { // no bar
			least = 1
		}
	}
	old, with = was, now
	for i := range cells {
		for k := i + least - 1; k < len(cells); k++ {
			a, b := cells[i][0], cells[k][1]
			if part := was[a:b]; a <= first && b >= len(was)-last && len(part) < len(old) &&
				part != "" && part == strings.TrimSpace(part) && strings.Count(d.Text, part) == 1 {
				old, with = part, now[a:len(now)-(len(was)-b)]
			}
		}
	}
	return old, with
}

// without are edits by which lines go, with the break behind them: one for those that stand together. nil where others
// come.
func (d *Doc) without(was, now []string) (edits []Op) {
	gone, blocks := left(was, now), [][2]int(nil)
	for _, at := range gone {
		if n := len(blocks); n > 0 && blocks[n-1][1] == at {
			blocks[n-1][1]++
		} else {
			blocks = append(blocks, [2]int{at, at + 1})
		}
	}
	for _, b := range blocks {
		text := strings.Join(was[b[0]:b[1]], "\n")
		o := Op{Do: Edit, Path: d.Path, Old: text + "\n"}
		switch {
		case b[1] == len(was):
			o.Old = "\n" + text
		case b[0] > 0 && strings.Count(d.Text, o.Old) > 1: // another line ends so
			o.Old, o.New = "\n"+text+"\n", "\n"
		}
		edits = append(edits, o)
	}
	if len(edits) > 0 && len(gone) <= mostGone {
		edits[0].Why = d.goes(gone)
	}
	return edits
}

// goes says which lines go.
func (d *Doc) goes(gone []int) string {
	if len(gone) == 1 {
		return path.Base(d.Path) + ": This line goes: " + strings.TrimSpace(d.lines()[gone[0]])
	}
	why := path.Base(d.Path) + ": These lines go:"
	for _, i := range gone {
		why += "\n" + strings.TrimSpace(d.lines()[i])
	}
	return why
}

// lastLine is the number of the last line that has text, -1 where none has.
func (d *Doc) lastLine() int {
	for i, line := range slices.Backward(d.lines()) {
		if strings.TrimSpace(line) != "" {
			return i
		}
	}
	return -1
}
