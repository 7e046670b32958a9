package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/examples/internal/desk"
)

// Bounds on what callers can make the server hold.
const (
	maxRunning = 8   // exports at a time
	maxKept    = 256 // exports that export_status knows
)

// exports runs exports in the background and remembers how they went. It is
// the pattern of a handle, written out by hand: the call that starts the work
// returns at once, and what is exported decides whether it is new. Package tasks
// does the same, and more, for an ordinary tool: see export_orders.
type exports struct {
	desk *desk.Desk
	// ctx outlives every request, because the work does too.
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu      sync.Mutex
	started int
	running int
	byID    map[string]*exportOutput
	bySpec  map[desk.Filter]string // the ID of the export that runs or is done
	kept    []keptExport           // the oldest first
}

type keptExport struct {
	id   string
	spec desk.Filter
}

func newExports(d *desk.Desk) *exports {
	ctx, stop := context.WithCancel(context.Background())
	return &exports{desk: d, ctx: ctx, stop: stop, byID: map[string]*exportOutput{}, bySpec: map[desk.Filter]string{}}
}

// start returns the export of spec that runs or is done, or starts one.
func (e *exports) start(spec desk.Filter) (exportOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if id, ok := e.bySpec[spec]; ok {
		return *e.byID[id], nil
	}
	if e.running == maxRunning {
		return exportOutput{}, errors.Unavailable("the export was not started").
			Because("%d exports are running", e.running).
			Next("start it again when one of them is done")
	}
	e.forgetOldest()
	e.started++
	e.running++
	id := fmt.Sprintf("EXP-%d", e.started)
	out := &exportOutput{ExportID: id, State: "running"}
	e.byID[id] = out
	e.bySpec[spec] = id
	e.kept = append(e.kept, keptExport{id, spec})
	e.wg.Go(func() {
		var file desk.Export
		// errors.Go: a panic in here would otherwise end the process, because no
		// middleware sees it.
		err := <-errors.Go(e.ctx, func(ctx context.Context) (err error) {
			file, err = e.desk.WriteExport(ctx, spec)
			return err
		})
		e.finish(out, spec, file, err)
	})
	return *out, nil
}

func (e *exports) finish(out *exportOutput, spec desk.Filter, file desk.Export, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running--
	if err != nil {
		// A failure releases the selection: the next start begins anew.
		out.State, out.Problem = "failed", "the export was not written; start it again"
		delete(e.bySpec, spec)
		return
	}
	out.State, out.Rows, out.Bytes, out.SHA256 = "done", file.Rows, file.Bytes, file.SHA256
}

// forgetOldest makes room for one more; the caller holds the lock. What runs
// is never forgotten, and far fewer may run than are kept.
func (e *exports) forgetOldest() {
	if len(e.kept) < maxKept {
		return
	}
	i := slices.IndexFunc(e.kept, func(k keptExport) bool { return e.byID[k.id].State != "running" })
	oldest := e.kept[i]
	e.kept = slices.Delete(e.kept, i, i+1)
	delete(e.byID, oldest.id)
	if e.bySpec[oldest.spec] == oldest.id {
		delete(e.bySpec, oldest.spec)
	}
}

func (e *exports) get(id string) (exportOutput, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out, ok := e.byID[id]
	if !ok {
		return exportOutput{}, false
	}
	return *out, true
}

// close gives up what runs and waits for it.
func (e *exports) close() {
	e.stop()
	e.wg.Wait()
}
