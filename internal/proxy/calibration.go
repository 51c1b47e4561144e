package proxy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"hone/internal/blob"
	"hone/internal/fault"
	"hone/internal/learn/modelfile"
)

// Evidence is what a completion's own log-probabilities say about it.
type Evidence struct {
	Mean, Min float64 // natural logs, at most 0
}

// EvidenceOf reads the log-probabilities of all tokens of a completion, its stop token among them.
func EvidenceOf(logprobs []float32) Evidence {
	var e Evidence
	for _, l := range logprobs {
		e.Mean += float64(l) / float64(len(logprobs))
		e.Min = min(e.Min, float64(l))
	}
	return e
}

// Observed is one call of the small model on a held-out scenario.
type Observed struct {
	Evidence
	Right bool
}

// Calibration turns evidence into a probability that a call is right, and says which is enough. It is fitted to one
// adapter.
type Calibration struct {
	// Confidence is 1/(1+exp(-(Bias + Mean*mean + Min*min))): Platt's scaling, of two scores.
	Bias float64 `json:"bias"`
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	// Threshold is the least confidence at which a call is proposed; above 1: none is.
	Threshold float64 `json:"threshold"`

	Target        float64 `json:"target_precision"`
	Calls         int     `json:"calls"`          // that it was fitted to
	Right         int     `json:"right"`          // of them
	Accepted      int     `json:"accepted"`       // of Calls, those at the threshold or above
	AcceptedRight int     `json:"accepted_right"` // of them
	Scenarios     string  `json:"scenarios"`      // what they were of: file and split
	Weights       string  `json:"weights_sha256"` // of the adapter's weights
}

// File is the name of the file beside an adapter's.
const File = "initial_call.json"

// Confidence is the probability that a call with this evidence is right.
func (c *Calibration) Confidence(e Evidence) float64 {
	return 1 / (1 + math.Exp(-(c.Bias + c.Mean*e.Mean + c.Min*e.Min)))
}

// Enough reports whether a call is to be proposed.
func (c *Calibration) Enough(confidence float64) bool { return confidence >= c.Threshold }

// Fewest is the fewest calls that a calibration is fitted to.
const Fewest = 20

// FitCalibration fits a calibration to what was observed, and takes the lowest threshold at which the share of right
// calls is at least target. Where no threshold reaches it, nothing will be proposed. Its error is that there is too
// little to fit to.
func FitCalibration(seen []Observed, target float64) (Calibration, error) {
	c := Calibration{Target: target, Calls: len(seen), Threshold: 2}
	if len(seen) < Fewest {
		return c, &fault.Error{
			Code: fault.CodeFailures,
			What: fmt.Sprintf("cannot calibrate on %s", fault.Count(len(seen), "call")),
			Why:  fmt.Sprintf("it takes %d of held-out scenarios", Fewest),
			Next: "give more scenarios of the validation split, or an adapter that makes calls",
		}
	}
	c.logistic(seen)
	sorted := slices.Clone(seen)
	sort.Slice(sorted, func(i, j int) bool {
		return cmp.Compare(c.Confidence(sorted[j].Evidence), c.Confidence(sorted[i].Evidence)) < 0
	})
	for i, o := range sorted {
		if o.Right {
			c.Right++
		}
		here := c.Confidence(o.Evidence)
		last := i+1 == len(sorted) || c.Confidence(sorted[i+1].Evidence) < here // of those of one confidence
		if last && float64(c.Right) >= target*float64(i+1) {
			c.Threshold, c.Accepted, c.AcceptedRight = here, i+1, c.Right
		}
	}
	return c, nil
}

// ridge keeps the weights finite where right and wrong calls do not overlap.
const ridge = 1e-2

// logistic fits the weights by Newton's method, with Platt's targets (Platt 1999, section 2.2): (N+ + 1)/(N+ + 2) and
// 1/(N- + 2) in the place of 1 and 0.
func (c *Calibration) logistic(seen []Observed) {
	right := 0.0
	for _, o := range seen {
		if o.Right {
			right++
		}
	}
	high, low := (right+1)/(right+2), 1/(float64(len(seen))-right+2)
	var w [3]float64
	for range 100 {
		gradient := [3]float64{}
		hessian := [3][3]float64{}
		for k := 1; k < 3; k++ { // the bias is free
			gradient[k], hessian[k][k] = ridge*w[k], ridge
		}
		for _, o := range seen {
			x := [3]float64{1, o.Mean, o.Min}
			p := 1 / (1 + math.Exp(-(w[0] + w[1]*x[1] + w[2]*x[2])))
			y := low
			if o.Right {
				y = high
			}
			for i := range x {
				gradient[i] += (p - y) * x[i]
				for j := range x {
					hessian[i][j] += p * (1 - p) * x[i] * x[j]
				}
			}
		}
		for i := range hessian {
			hessian[i][i] += 1e-9
		}
		step := solve(hessian, gradient)
		size := 0.0
		for i := range w {
			w[i] -= step[i]
			size = max(size, math.Abs(step[i]))
		}
		if size < 1e-10 {
			break
		}
	}
	c.Bias, c.Mean, c.Min = w[0], w[1], w[2]
}

// solve solves ax = b by elimination; a is positive definite.
func solve(a [3][3]float64, b [3]float64) (x [3]float64) {
	for i := range a {
		for r := i + 1; r < 3; r++ {
			f := a[r][i] / a[i][i]
			for k := i; k < 3; k++ {
				a[r][k] -= f * a[i][k]
			}
			b[r] -= f * b[i]
		}
	}
	for i := 2; i >= 0; i-- {
		x[i] = b[i]
		for k := i + 1; k < 3; k++ {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x
}

// weightsOf is the SHA-256 of an adapter's weights.
func weightsOf(folder string) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, modelfile.WeightsFile))
	if err != nil {
		return "", &fault.Error{Code: fault.CodeUsage, What: "not an adapter", Where: folder, Err: err,
			Next: "name the folder that holds " + modelfile.WeightsFile}
	}
	return blob.Of(text).String(), nil
}

// SaveBeside writes the calibration beside an adapter.
func (c *Calibration) SaveBeside(folder string) (err error) {
	if c.Weights, err = weightsOf(folder); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return blob.Write(filepath.Join(folder, File), append(text, '\n'), 0o644)
}

// LoadCalibration reads the calibration beside an adapter.
func LoadCalibration(folder string) (c Calibration, err error) {
	weights, err := weightsOf(folder)
	if err != nil {
		return c, err
	}
	path := filepath.Join(folder, File)
	next := "hone eval --model " + folder + " --dataset SCENARIOS --split validation --calibrate 0.95 makes it"
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, &fault.Error{Code: fault.CodeUsage, What: "the adapter is not calibrated for initial calls",
			Where: folder, Why: "it has no " + File, Next: next}
	}
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil || !(c.Threshold > 0) {
		return c, &fault.Error{Code: fault.CodeUsage, What: "the calibration cannot be read", Where: path,
			Err: err, Next: next}
	}
	if c.Weights != weights {
		return c, &fault.Error{Code: fault.CodeUsage, What: "the calibration is of other weights", Where: path,
			Why: "the adapter was changed since", Next: next}
	}
	return c, nil
}
