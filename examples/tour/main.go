// Tour launches one server again and again, without steady and with it, and
// prints what a client receives: the mistakes that servers make, each as it
// looks from the other side. It checks every sentence that it prints and fails
// if one no longer holds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Exit statuses.
const (
	exitHolds  = 0
	exitBroken = 1 // a claim does not hold
	exitError  = 2 // the tour could not be run
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	status, err := play(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
	}
	os.Exit(status)
}

// A program is an example that is launched as a server.
type program struct {
	name string // its folder, and how it is called in what is printed
	path string // of the built program
}

// A tour is what scenes need.
type tour struct {
	ctx    context.Context
	orders program // the order desk
	papers program // the knowledge base
	// marketdata is the server in front of an API.
	marketdata program
	// withoutPart is a part of steady, or another guard, that the runs with steady leave out, so
	// that a test can see the claims about it fail.
	withoutPart string
}

// withoutVariable names that part. Only tests set it.
const withoutVariable = "STEADY_TOUR_WITHOUT"

// Guards that are no part of the order desk's stack.
const (
	catalogPart = "catalog"     // the catalog in front of fifty endpoints
	refused     = "refused"     // errors.Refused in a handler
	taskTools   = "task-tools"  // tools named after tasks
	exactNames  = "exact-names" // what deletes runs under its exact name only
)

var otherGuards = []string{catalogPart, refused, taskTools, exactNames}

func (t *tour) takesAway(guard string) bool { return t.withoutPart == guard }

func play(ctx context.Context, args []string) (status int, err error) {
	flags := flag.NewFlagSet("tour", flag.ExitOnError)
	pick := flags.String("run", "", "only the scenes whose name matches this regular expression, as in 1/ or panic")
	asJSON := flags.Bool("json", false, "print the transcript as JSON: every line on the wire, and the servers' stderr")
	orders := flags.String("orders", "", "the program of examples/orders, if it is built already")
	papers := flags.String("papers", "", "the program of examples/papers, if it is built already")
	marketdata := flags.String("marketdata", "", "the program of examples/marketdata, if it is built already")
	_ = flags.Parse(args) // ends the process where it cannot
	if flags.NArg() > 0 {
		return exitError, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	mistakes, err := picked(*pick)
	if err != nil {
		return exitError, err
	}
	t := &tour{
		ctx: ctx, orders: program{"orders", *orders}, papers: program{"papers", *papers}, marketdata: program{"marketdata", *marketdata},
		withoutPart: os.Getenv(withoutVariable),
	}
	dir, err := os.MkdirTemp("", "steady-tour")
	if err != nil {
		return exitError, err
	}
	defer os.RemoveAll(dir)
	if err := build(ctx, dir, &t.orders, &t.papers, &t.marketdata); err != nil {
		return exitError, err
	}

	p := painter{w: os.Stdout, colour: wantsColour(os.Stdout)}
	if !*asJSON {
		p.wrap("", "The servers of examples/orders, examples/papers and examples/marketdata, launched over real stdio: without steady and with it. "+
			"You read what the official Go SDK's client receives. Every line below a command is checked.")
	}
	start := time.Now()
	for _, m := range mistakes {
		if !*asJSON {
			p.mistake(m)
		}
		for _, s := range m.Scenes {
			err := s.play(t, s)
			if !*asJSON {
				p.scene(s)
			}
			if err != nil {
				return exitError, fmt.Errorf("%s: %w", s.Name, err)
			}
		}
	}
	outcome := newTranscript(mistakes)
	if *asJSON {
		if err := outcome.writeJSON(os.Stdout); err != nil {
			return exitError, err
		}
	} else {
		fmt.Println()
		if outcome.Holds {
			fmt.Printf("All %d claims hold (%.1f s).\n", outcome.Claims, time.Since(start).Seconds())
		} else {
			fmt.Printf("%d of %d claims do not hold:\n  %s\n", len(outcome.Broken), outcome.Claims, strings.Join(outcome.Broken, "\n  "))
		}
	}
	if !outcome.Holds {
		return exitBroken, nil
	}
	return exitHolds, nil
}

// picked returns the mistakes with the scenes whose name matches.
func picked(pattern string) (picked []*mistake, err error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	var names []string
	for _, m := range []*mistake{strayOutput(), failures(), catalogs(), sizes(), slow(), guesses(), endpoints()} {
		var scenes []*scene
		for _, s := range m.Scenes {
			s.Name = fmt.Sprintf("%d/%s", m.Number, s.Name)
			names = append(names, s.Name)
			if re.MatchString(s.Name) {
				scenes = append(scenes, s)
			}
		}
		if m.Scenes = scenes; len(scenes) > 0 {
			picked = append(picked, m)
		}
	}
	if len(picked) == 0 {
		return nil, fmt.Errorf("-run %s picks nothing; there are %s", pattern, strings.Join(names, ", "))
	}
	return picked, nil
}

// without runs the order desk on the SDK alone.
func (t *tour) without(s *scene, args []string, act func(*server, *run) error) error {
	return t.run(s, "without", t.orders, append([]string{"-bare"}, args...), act)
}

// with runs the order desk with steady.
func (t *tour) with(s *scene, args []string, act func(*server, *run) error) error {
	return t.run(s, "with", t.orders, append(t.flags(), args...), act)
}

// flags are those of every run of the order desk with steady: none, unless
// parts of it are to be left out.
func (t *tour) flags(parts ...string) []string {
	if t.withoutPart != "" && !slices.Contains(otherGuards, t.withoutPart) {
		parts = append(parts, t.withoutPart)
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"-without", strings.Join(parts, ",")}
}

// run launches the program, adds a run to the scene and lets act talk to the
// server and add what comes of it. act may close the server, to see how it ends.
func (t *tour) run(s *scene, label string, p program, args []string, act func(*server, *run) error) error {
	server, err := launch(t.ctx, p, args...)
	if err != nil {
		return err
	}
	defer server.close()
	r := &run{Label: label, Command: strings.Join(append([]string{p.name}, args...), " ")}
	s.Runs = append(s.Runs, r)
	err = act(server, r)
	server.close()
	r.Wire, r.Stderr = server.wire.all(), server.stderr.String()
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return err
}
