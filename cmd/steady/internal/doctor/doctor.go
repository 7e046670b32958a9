// Package doctor probes a server for what goes wrong in production: it plays a
// client, a model that guesses, an operator and an attacker, and says what came
// back, why it matters and what to do.
package doctor

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
	"github.com/steadymcp/steady/cmd/steady/internal/report"
	"github.com/steadymcp/steady/registry"
)

// Options configures [Run].
type Options struct {
	Target   *launch.Target
	Profiles []*registry.Profile // for the linter; their exceptions hold for the probes too
	Gate     Gate
	// Launches is how many processes' listings are compared. If zero, 3.
	Launches int
	// Timeout is how long an answer may take. If zero, 10 s.
	Timeout time.Duration
	// Idle is how long a quiet server is listened to. If zero, 500 ms.
	Idle time.Duration
	// Budget is how long everything may take. If zero, 5 min. What did not fit
	// is reported as skipped.
	Budget time.Duration
	// Only, if not empty, names the families of probes to run.
	Only []string
	// Progress receives a line for each step. If nil, nothing is said.
	Progress io.Writer
	// DryRun says what would be called, and calls nothing.
	DryRun bool
	// Version of this program, for the report.
	Version string

	canary string // a secret in the environment of what we start
}

// A family is probes that share a way to look.
type family struct {
	name   string
	probes []Probe
	run    func(*exam)
	stdio  bool // needs a process
	http   bool // needs HTTP
}

// families in the order in which they run. Listing is first, because the others
// need what it finds out; what ends the server is last.
func families() []family {
	return []family{
		{name: "listing", probes: listingProbes, run: (*exam).checkListing},
		{name: "protocol", probes: protocolProbes, run: (*exam).checkProtocol},
		{name: "calls", probes: callProbes, run: (*exam).checkCalls},
		{name: "names", probes: nameProbes, run: (*exam).checkNames},
		{name: "arguments", probes: argumentProbes, run: (*exam).checkArguments},
		{name: "limits", probes: limitProbes, run: (*exam).checkLimits},
		{name: "cursors", probes: cursorProbes, run: (*exam).checkCursors},
		{name: "hostile", probes: hostileProbes, run: (*exam).checkHostile},
		{name: "prompts", probes: promptProbes, run: (*exam).checkPrompts},
		{name: "tasks", probes: taskProbes, run: (*exam).checkTasks},
		{name: "time", probes: timeProbes, run: (*exam).checkTime},
		{name: "http", probes: httpProbes, run: (*exam).checkHTTP, http: true},
		{name: "stdout", probes: stdoutProbes, run: (*exam).checkStdout, stdio: true},
		{name: "lines", probes: lineProbes, run: (*exam).checkLines, stdio: true},
		{name: "ending", probes: endingProbes, run: (*exam).checkEnding, stdio: true},
	}
}

// Families returns the names of the families.
func Families() (names []string) {
	for _, f := range families() {
		names = append(names, f.name)
	}
	return names
}

// CheckFamilies says which of the names is none of a family.
func CheckFamilies(names []string) error {
	for _, name := range names {
		if !slices.Contains(Families(), name) {
			return fmt.Errorf("there is no family of probes %q; there are %s", name, strings.Join(Families(), ", "))
		}
	}
	return nil
}

// Probes returns every probe, in the order of the documentation.
func Probes() (out []Probe) {
	for _, f := range families() {
		for _, p := range f.probes {
			p.Family = f.name
			out = append(out, p)
		}
	}
	return out
}

// Run examines a server. An error means that it could not be started, reached or
// understood; findings are none.
func Run(ctx context.Context, opts Options) (*report.Report, error) {
	opts.Launches = orDefault(opts.Launches, 3)
	opts.Timeout = orDefault(opts.Timeout, 10*time.Second)
	opts.Idle = orDefault(opts.Idle, 500*time.Millisecond)
	opts.Budget = orDefault(opts.Budget, 5*time.Minute)
	if err := CheckFamilies(opts.Only); err != nil {
		return nil, err
	}
	if !opts.Target.IsHTTP() {
		opts.canary = rand.Text()
	}
	bounded, cancel := context.WithTimeout(ctx, opts.Budget)
	defer cancel()
	e := newExam(bounded, opts)
	defer e.close()
	started := time.Now()
	if err := e.begin(); err != nil {
		return nil, fmt.Errorf("%s", e.secrets.Mask(err.Error()))
	}
	e.announce()
	for _, f := range families() {
		e.runFamily(f)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("interrupted: %w", err)
	}
	e.over = true
	e.fileStrays()
	return e.report(started), nil
}

func (e *exam) runFamily(f family) {
	skip := func(reason string) {
		for _, p := range f.probes {
			e.skip(p.ID, reason)
		}
	}
	switch {
	case e.opts.DryRun && f.name != "listing":
		skip("a dry run calls nothing")
	case len(e.opts.Only) > 0 && !slices.Contains(e.opts.Only, f.name):
		skip("not asked for")
	case f.stdio && e.opts.Target.IsHTTP():
		skip("the server is reached over HTTP")
	case f.http && !e.opts.Target.IsHTTP():
		skip("the server is on stdio")
	case e.ctx.Err() != nil:
		skip("the time was up; -budget gives more")
	case e.lost != nil:
		skip("the server could not be started again: " + e.lost.Error())
	default:
		began := time.Now()
		f.run(e)
		e.progress("%-9s %4.1f s", f.name, time.Since(began).Seconds())
		for _, p := range f.probes {
			if _, ok := e.status[p.ID]; !ok {
				if e.ctx.Err() != nil {
					e.skip(p.ID, "the time was up; -budget gives more")
				} else {
					e.skip(p.ID, "nothing to try it on")
				}
			}
		}
	}
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
