package local

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/proxy"
)

// InitialCall is the mode of the initial-call agent.
const InitialCall = "initial-call"

// Sidecar is the mode that mends or revises the upstream's calls. Without a model it is the fixer alone.
const Sidecar = "sidecar"

// modes are the names of all there are.
func modes() []string { return []string{InitialCall, Sidecar} }

func (o *ProxyOptions) check() error {
	if err := o.checkHands(); err != nil {
		return err
	}
	switch {
	case o.Mode == "" && o.Model != "":
		return &fault.Error{Code: fault.CodeUsage, What: "a model is given and no mode", Where: "--model " + o.Model,
			Next: "give --mode " + strings.Join(modes(), " or --mode ")}
	case o.Mode == "":
		return nil
	case !slices.Contains(modes(), o.Mode):
		return &fault.Error{Code: fault.CodeUsage, What: "there is no such mode", Where: "--mode " + o.Mode,
			Next: "give " + strings.Join(modes(), " or ")}
	case o.Mode == Sidecar && o.Model == "":
		return nil
	case o.Mode != Sidecar && o.Hint:
		return &fault.Error{Code: fault.CodeUsage, What: "only the mode sidecar tells the upstream of its errors",
			Where: "--hint", Next: "give --mode " + Sidecar}
	case o.Model == "":
		return &fault.Error{Code: fault.CodeUsage, What: "the mode has no model", Where: "--mode " + o.Mode,
			Next: "name an adapter's folder with --model"}
	case o.Slots < 1 || o.Context < 0:
		return &fault.Error{Code: fault.CodeUsage, What: "--slots must be at least 1, and --context not negative",
			Next: "hone proxy --help"}
	}
	return nil
}

// open opens the mode and its model; nil where there is none. end frees what it took.
func (o *ProxyOptions) open(
	ctx context.Context, h *host.Host, c config.Config,
) (mode proxy.Mode, end func(), err error) {
	if o.Mode == "" {
		return nil, func() {}, nil
	}
	if o.Model, err = basemodel.AdapterFolder(h, o.Model); err != nil { // for what lies beside its weights, too
		return nil, nil, err
	}
	if o.Mode == Sidecar {
		return o.openSidecar(h, c)
	}
	agent, unload, err := OpenInitialAgent(h, c, o.Model, o.Context, o.Slots)
	if err != nil {
		return nil, nil, err
	}
	hands, leave, err := o.openHands(ctx, h, c)
	if err != nil {
		unload()
		return nil, nil, err
	}
	m := &proxy.InitialCall{Agent: agent, Deadline: o.Deadline, Hands: hands}
	sayPace(ctx, h, m)
	return m, func() { leave(); unload() }, nil
}

// sayPace says how long a call takes here, and warns where requests would not wait for it.
func sayPace(ctx context.Context, h *host.Host, m *proxy.InitialCall) {
	deadline := cmp.Or(m.Deadline, 5*time.Second)
	took, late := m.Try(ctx, 4*deadline)
	switch {
	case late:
		h.Say("warning: a short initial call takes more than %s here, and requests wait for --deadline %s at most: "+
			"all go to the upstream as they are; give a longer --deadline, a smaller model, or a GPU",
			took.Round(time.Second), deadline)
	case took > deadline/2:
		h.Say("warning: a short initial call takes %s here, and requests wait for --deadline %s at most: "+
			"longer ones go to the upstream as they are; next: --deadline %s",
			took.Round(100*time.Millisecond), deadline, (4 * took).Round(time.Second))
	default:
		h.Say("a short initial call takes %s here; requests wait for --deadline %s at most",
			took.Round(10*time.Millisecond), deadline)
	}
}

// OpenInitialAgent opens the initial-call agent of an adapter that is calibrated for it. context is of one conversation
// in tokens, 0 as many as it was trained at.
func OpenInitialAgent(h *host.Host, c config.Config, folder string, context, slots int) (*proxy.Agent, func(), error) {
	calibration, err := proxy.LoadCalibration(folder)
	if err != nil {
		return nil, nil, err
	}
	if calibration.Threshold > 1 {
		h.Say("warning: no confidence of %s reaches the precision it was calibrated for (%g): it will propose nothing",
			folder, calibration.Target)
	}
	if c.Model.Context = context; context == 0 {
		c.Model.Context = TrainingContext(folder)
	}
	m, err := OpenServed(h, c, folder, slots)
	if err != nil {
		return nil, nil, err
	}
	return &proxy.Agent{Client: &http.Client{Transport: InProcess{Handler: m.Handler}},
		URL: "http://127.0.0.1/v1/chat/completions", Model: m.ID, Calibration: calibration}, m.Close, nil
}
