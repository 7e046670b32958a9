package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
)

// The built tour, and the servers that it launches.
var tourProgram, ordersProgram, papersProgram, marketdataProgram string

func TestMain(m *testing.M) {
	mcptest.RunWithPrograms(m, map[string]*string{
		".": &tourProgram, "../orders": &ordersProgram, "../papers": &papersProgram, "../marketdata": &marketdataProgram,
	})
}

// runTour runs the built tour and returns what it printed and its exit status.
// A part of steady that is named is left out of the runs with steady.
func runTour(t *testing.T, without string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tourProgram, append([]string{"-orders", ordersProgram, "-papers", papersProgram, "-marketdata", marketdataProgram}, args...)...)
	cmd.Env = append(os.Environ(), withoutVariable+"="+without)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestTour(t *testing.T) {
	t.Parallel()
	stdout, stderr, status := runTour(t, "")
	t.Log("\n" + stdout)
	require.Zero(t, status, "%s", stderr)
	require.Empty(t, stderr)
	require.Regexp(t, `(?m)^All \d+ claims hold`, stdout)
	require.NotContains(t, stdout, "\x1b", "colours are for terminals")
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), width, line)
	}
	for _, scene := range []string{"1/banner", "1/print", "1/child", "2/refusal", "2/panic", "2/null", "2/leak", "3/order", "3/growth", "3/size", "4/5000", "4/120000", "4/pages", "5/timeout", "5/bucket", "6/names", "6/arguments", "6/denied", "7/bytes", "7/questions", "7/path"} {
		require.Contains(t, stdout, scene)
	}

	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, excerpt, _ := strings.Cut(string(readme), "```text\n")
	excerpt, _, _ = strings.Cut(excerpt, "```")
	printed := lines(stdout)
	for _, line := range lines(excerpt) {
		require.Contains(t, printed, line, "the README shows what is not printed any more")
	}
}

var incidentID = regexp.MustCompile(`incident [A-Z2-7]{12}`)

// lines returns the lines of text without indentation, and with one id for all incidents.
func lines(text string) []string {
	var all []string
	for line := range strings.Lines(incidentID.ReplaceAllString(text, "incident ID")) {
		all = append(all, strings.TrimSpace(line))
	}
	return all
}

// TestTourBuildsTheServer runs the tour as its readers do.
func TestTourBuildsTheServer(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "run", ".", "-run", "1/banner").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "claims hold")
	require.NotContains(t, string(out), "1/print")
}

// TestClaimsCanFail takes guards away, one after another, and sees that the
// claims about them, and no others, fail: every claim about a run with steady
// fails without something.
func TestClaimsCanFail(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	made, failed := map[claim]string{}, map[claim]bool{}
	t.Run("without", func(t *testing.T) {
		for _, c := range []struct {
			part string
			fail []string // a scene that must fail by each of the part's claims
			hold []string
			long string // scenes that take long, and are run only where they matter
		}{
			{part: "stdioguard", fail: []string{"1/banner", "1/print", "1/child"}, hold: []string{"2/", "3/", "4/", "6/", "7/"}},
			{part: "errors", fail: []string{"2/refusal", "2/panic", "2/null", "2/leak"}, hold: []string{"1/", "3/", "4/", "6/", "7/"}},
			// Whatever runs a handler in a goroutine of its own keeps a panic from the process.
			{part: "errors,limits,tasks", fail: []string{"2/panic", "2/null"}, long: "2/(panic|null)"},
			{part: refused, fail: []string{"2/refusal"}, hold: []string{"1/", "2/panic", "2/null", "2/leak", "3/", "4/", "6/", "7/"}},
			{part: "registry", fail: []string{"3/order", "3/growth"}, hold: []string{"1/", "2/", "3/size", "4/", "6/", "7/"}, long: "3/order"},
			{part: taskTools, fail: []string{"3/size"}, hold: []string{"1/", "2/", "3/growth", "4/", "6/", "7/"}},
			{part: "discovery", fail: []string{"2/null", "6/names", "6/arguments", "6/denied"}, hold: []string{"1/", "2/refusal", "2/panic", "2/leak", "3/", "4/", "7/"}},
			{part: exactNames, fail: []string{"6/denied"}, hold: []string{"1/", "2/", "3/", "4/", "6/names", "6/arguments", "7/"}},
			{part: "pagination", fail: []string{"4/5000", "4/pages"}, hold: []string{"1/", "2/", "3/", "6/", "7/"}},
			// The guard of stdio has a limit too, which holds where nothing else does.
			{part: "pagination,stdioguard", fail: []string{"4/120000"}, long: "4/120000"},
			{part: "tasks", fail: []string{"5/timeout", "5/bucket"}, hold: []string{"1/", "2/", "3/", "4/", "6/", "7/"}, long: "5/"},
			{part: catalogPart, fail: []string{"7/bytes", "7/questions", "7/path"}, hold: []string{"1/", "2/", "3/", "4/", "6/"}},
		} {
			t.Run(c.part, func(t *testing.T) {
				t.Parallel()
				run := c.long
				if len(c.hold) > 0 {
					run = strings.Trim("[1267]/|3/(growth|size)|4/(5000|pages)|"+c.long, "|")
				}
				stdout, stderr, status := runTour(t, c.part, "-json", "-run", run)
				require.Equal(t, exitBroken, status, "%s", stderr)
				var got transcript
				require.NoError(t, json.Unmarshal([]byte(stdout), &got))
				require.False(t, got.Holds)
				for _, scene := range c.fail {
					require.True(t, hasPrefix(got.Broken, scene+", "), "%s should fail without %s: %q", scene, c.part, got.Broken)
				}
				for _, scene := range c.hold {
					require.False(t, hasPrefix(got.Broken, scene), "%s should hold without %s: %q", scene, c.part, got.Broken)
				}
				mu.Lock()
				defer mu.Unlock()
				got.claims(func(c claim, l line) {
					made[c] = l.Text
					failed[c] = failed[c] || !l.Holds
				})
			})
		}
	})
	require.NotEmpty(t, made)
	for c, text := range made {
		if !failed[c] && !slices.Contains(comparisons, c.label) {
			t.Errorf("%s, %s (run %d): nothing makes this fail: %s", c.scene, c.label, c.run+1, text)
		}
	}
}

// comparisons are the labels of runs that show what steady is compared with.
var comparisons = []string{"without", "endpoint"}

// A claim is told from others by its place, for its words have figures in them.
type claim struct {
	scene, label string
	run, number  int
}

func (t transcript) claims(each func(claim, line)) {
	for _, m := range t.Mistakes {
		for _, s := range m.Scenes {
			for i, r := range s.Runs {
				n := 0
				for _, l := range r.Lines {
					if !l.Quote && !l.Head {
						each(claim{s.Name, r.Label, i, n}, l)
						n++
					}
				}
			}
		}
	}
}

func hasPrefix(texts []string, prefix string) bool {
	for _, text := range texts {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

func TestBrokenClaimsArePrinted(t *testing.T) {
	t.Parallel()
	stdout, _, status := runTour(t, "errors", "-run", "2/leak")
	require.Equal(t, exitBroken, status)
	require.Contains(t, stdout, "NO  This does not hold any longer: None of them:")
	require.Contains(t, stdout, "claims do not hold:\n  2/leak, with: None of them:")
}

func TestJSON(t *testing.T) {
	t.Parallel()
	stdout, stderr, status := runTour(t, "", "-json", "-run", "1/banner|2/refusal")
	require.Zero(t, status, "%s", stderr)
	var got transcript
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.True(t, got.Holds)
	require.Len(t, got.Mistakes, 2)
	banner := got.Mistakes[0].Scenes[0].Runs[0]
	require.Equal(t, "orders -bare -bug banner", banner.Command)
	require.True(t, slices.ContainsFunc(banner.Wire, func(l wireLine) bool {
		return l.Direction == "received" && l.Line == "Order desk 1.4.0 starting, profile: production"
	}))
	refusal := got.Mistakes[1].Scenes[0].Runs[1]
	require.Condition(t, func() bool {
		for _, l := range refusal.Wire {
			if l.Direction == "received" && strings.Contains(l.Line, `"isError":true`) {
				return true
			}
		}
		return false
	}, "the transcript has what went over the wire: %+v", refusal.Wire)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-run", "nothing"}, "-run nothing picks nothing; there are 1/banner, 1/print"},
		{[]string{"-run", "("}, "-run: error parsing regexp"},
		{[]string{"stray"}, `unexpected argument "stray"`},
		{[]string{"-orders", filepath.Join("no", "such", "program")}, "1/banner: "},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			_, stderr, status := runTour(t, "", c.args...)
			require.Equal(t, exitError, status)
			require.Contains(t, stderr, c.want)
		})
	}
}

func TestPainter(t *testing.T) {
	t.Parallel()
	s := &scene{Name: "9/x", Code: "code", Runs: []*run{
		{Label: "without", Command: "orders -bare", Lines: []line{{Text: "holds", Holds: true}, {Text: "broken"}, {Text: "said", Quote: true, Holds: true}}},
		{Label: "with", Command: "orders", Lines: []line{
			{Cells: []string{"call", "answer"}, Head: true, Holds: true},
			{Cells: []string{"a longer one", ""}, Holds: true},
			{Cells: []string{"b", "é"}, Holds: true},
		}},
	}}
	var plain, coloured bytes.Buffer
	painter{w: &plain}.scene(s)
	painter{w: &coloured, colour: true}.scene(s)
	require.Equal(t, `
   9/x  code
     without  $ orders -bare
       holds
   NO  This does not hold any longer: broken
         | said
     with     $ orders
       call          answer
       a longer one
       b             é
`, plain.String())
	require.Contains(t, coloured.String(), "\x1b[31mwithout")
	require.Contains(t, coloured.String(), "\x1b[32mwith ")
}
