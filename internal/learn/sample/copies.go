package sample

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/episode/policy"
)

// A prompt that begins as the text in another slot does is not computed again on a GPU: agents with the same tools come
// with one beginning, and each is in a slot of its own. Its keys and values are copied, a small chunk in each of
// numPieces at one time.

// numPieces is how many chunks are copied at one time.
const numPieces = 32

// piece is a chunk to copy: from and to slots, of a column on.
type piece struct{ from, to, column int }

func (s *Sampler) pieces() int { return min(numPieces, s.slots*s.context/s.chunk) }

// copyProgram copies R pieces of C columns. Inputs: caches, from[R], to[R], column[R], write[R] (0: the piece is not
// used, and names a place that no other does). Outputs: caches. All is read before anything is written.
func (s *Sampler) copyProgram() (*engine.Program, error) {
	n, l, r := s.numPrefix(), 2*s.spec.NumLayers, s.pieces()
	params := slices.Clone(s.cacheParams()[n:])
	for _, name := range []string{"from", "to", "column", "write"} {
		params = append(params, engine.Param{Name: name, Shape: engine.I32(r)})
	}
	return s.engine.Compile("copy", params, func(in []*Node) []*Node {
		from, to, column, write := in[l], in[l+1], in[l+2], in[l+3]
		source, at := window{slot: from, column: column}, window{to, column, Equal(write, OnesLike(write)),
			!s.engine.PureGo()}
		caches := slices.Clone(in[:l])
		for i, x := range caches {
			d := x.Shape().Dimensions
			flat, rows := source.rows(x, []int{d[0], r, s.chunk, d[3]})
			caches[i] = at.replace(x, Gather(flat, rows))
		}
		return caches
	}, engine.NumberNames("cache", l)...)
}

// openCopies compiles the program before the first request needs it, when all others would wait. Where that fails, as
// for want of memory, beginnings are computed.
func (s *Sampler) openCopies() {
	if program, err := s.copyProgram(); err == nil {
		s.copier = program
	}
}

// fetch has what another slot holds of a job's text behind the first kept tokens copied to slot i before anything else
// is done, where that is a chunk or more. It returns how many tokens the slot holds then. What others own is left
// alone: see policy.Request.
func (s *Sampler) fetch(i int, j *job, shared bool, text []int32, kept int) int {
	if s.copier == nil {
		return kept
	}
	from, most := -1, kept+s.chunk-1
	for k := range s.state {
		x := &s.state[k]
		if k == i || x.shared != shared || x.adapter != j.request.Adapter || x.owner != j.request.Owner ||
			slices.ContainsFunc(s.copies, func(p piece) bool { return p.to == k }) { // it is not there yet
			continue
		}
		if n := min(policy.CommonPrefix(text, x.cached), len(text)-1); n > most {
			from, most = k, n
		}
	}
	if from < 0 {
		return kept
	}
	for column := kept / s.chunk * s.chunk; column < most; column += s.chunk {
		s.copies = append(s.copies, piece{from, i, column})
	}
	s.stats.Copied += most - kept
	return most
}

// copyAll copies what is to be copied.
func (s *Sampler) copyAll() error {
	for len(s.copies) > 0 {
		n := min(len(s.copies), s.pieces())
		if err := s.copy(s.copies[:n]); err != nil {
			return err
		}
		s.copies = s.copies[n:]
	}
	return nil
}

func (s *Sampler) copy(pieces []piece) error {
	r := s.pieces()
	var in [4][]int32 // from, to, column, write
	place := func(p piece) int { return p.to*s.context + p.column }
	taken := map[int]bool{}
	for _, p := range pieces {
		taken[place(p)] = true
	}
	free := 0
	for k := range r {
		var p piece
		write := int32(0)
		if k < len(pieces) {
			p, write = pieces[k], 1
		} else {
			for taken[free] {
				free += s.chunk
			}
			p = piece{free / s.context, free / s.context, free % s.context}
			free += s.chunk
		}
		for i, v := range []int32{int32(p.from), int32(p.to), int32(p.column), write} {
			in[i] = append(in[i], v)
		}
	}
	var inputs []input
	for _, x := range in {
		inputs = append(inputs, input{x, []int{r}})
	}
	out, err := s.call(s.copier, slices.Clone(s.caches), inputs...)
	if err != nil {
		return err
	}
	s.caches = out
	return nil
}
