package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A mistake is one chapter of the tour.
type mistake struct {
	Number int      `json:"number"`
	Title  string   `json:"title"`
	About  string   `json:"about"`
	Scenes []*scene `json:"scenes"`
}

// A scene shows one form of a mistake: what the server's code does, and then
// what the client received in each run.
type scene struct {
	Name string `json:"name"`
	Code string `json:"code"`
	Runs []*run `json:"runs"`

	play func(*tour, *scene) error
}

// A run is one way of launching the server.
type run struct {
	Label   string     `json:"label"`
	Command string     `json:"command"`
	Lines   []line     `json:"lines"`
	Wire    []wireLine `json:"wire,omitempty"`
	Stderr  string     `json:"stderr,omitempty"`
}

// A line of a run is a claim, unless it only quotes or heads a table.
type line struct {
	Text  string   `json:"text"`
	Cells []string `json:"cells,omitempty"` // of a row; Text has them too
	Quote bool     `json:"quote,omitempty"`
	Head  bool     `json:"head,omitempty"`
	Holds bool     `json:"holds"`
}

// expect adds a claim. It is worded so that it is true as it stands when holds
// is true. A run makes the same claims whether or not they hold: one that is not
// made cannot be seen to fail.
func (r *run) expect(holds bool, format string, args ...any) {
	r.Lines = append(r.Lines, line{Text: fmt.Sprintf(format, args...), Holds: holds})
}

// head adds the first row of a table; the rows below are claims.
func (r *run) head(cells ...string) {
	r.row(true, cells...)
	r.Lines[len(r.Lines)-1].Head = true
}

// row adds a claim that is a row of a table.
func (r *run) row(holds bool, cells ...string) {
	r.Lines = append(r.Lines, line{Text: strings.TrimRight(strings.Join(cells, "  "), " "), Cells: cells, Holds: holds})
}

// quote adds what somebody received, shortened to what fits on a line or two.
func (r *run) quote(text string) {
	r.Lines = append(r.Lines, line{Text: shorten(text, 300), Quote: true, Holds: true})
}

// quoteError adds an error as the client's caller gets it.
func (r *run) quoteError(err error) {
	if err != nil {
		r.quote(err.Error())
	}
}

// quoteAnswer adds what became of a call.
func (r *run) quoteAnswer(result *mcp.CallToolResult, err error) {
	r.quoteError(err)
	if err == nil {
		r.quote(textOf(result))
	}
}

// transcript is the whole tour, for -json.
type transcript struct {
	Holds    bool       `json:"holds"`
	Claims   int        `json:"claims"`
	Broken   []string   `json:"broken,omitempty"`
	Mistakes []*mistake `json:"mistakes"`
}

func newTranscript(mistakes []*mistake) transcript {
	t := transcript{Holds: true, Mistakes: mistakes}
	for _, m := range mistakes {
		for _, s := range m.Scenes {
			for _, r := range s.Runs {
				for _, l := range r.Lines {
					if l.Quote || l.Head {
						continue
					}
					t.Claims++
					if !l.Holds {
						t.Holds = false
						t.Broken = append(t.Broken, s.Name+", "+r.Label+": "+l.Text)
					}
				}
			}
		}
	}
	return t
}

func (t transcript) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(t)
}

// A painter writes the tour for people.
type painter struct {
	w      io.Writer
	colour bool
}

const width = 100

const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
)

// paint colours text, unless there are no colours.
func (p painter) paint(text string, codes ...string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + strings.Join(codes, ";") + "m" + text + "\x1b[0m"
}

func (p painter) mistake(m *mistake) {
	fmt.Fprintf(p.w, "\n%s\n", p.paint(fmt.Sprintf("%d  %s", m.Number, m.Title), bold))
	p.wrap("   ", m.About)
}

func (p painter) scene(s *scene) {
	fmt.Fprintf(p.w, "\n   %s  %s\n", p.paint(s.Name, bold), s.Code)
	for _, r := range s.Runs {
		colour := green
		if r.Label == "without" || r.Label == "endpoint" {
			colour = red
		}
		fmt.Fprintf(p.w, "     %s %s\n", p.paint(fmt.Sprintf("%-8s", r.Label), colour), p.paint("$ "+r.Command, faint))
		widths := r.columns()
		for _, l := range r.Lines {
			switch {
			case l.Quote:
				p.wrap("         | ", l.Text)
			case !l.Holds:
				fmt.Fprintf(p.w, "%s\n", p.paint("   NO  This does not hold any longer: "+l.Text, bold, red))
			case l.Head:
				fmt.Fprintf(p.w, "       %s\n", p.paint(aligned(l.Cells, widths), faint))
			case l.Cells != nil:
				fmt.Fprintf(p.w, "       %s\n", aligned(l.Cells, widths))
			default:
				p.wrap("       ", l.Text)
			}
		}
	}
}

// columns returns how wide the cells of the run's rows are.
func (r *run) columns() (widths []int) {
	for _, l := range r.Lines {
		for i, cell := range l.Cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	return widths
}

func aligned(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		fmt.Fprintf(&b, "%-*s  ", widths[i], cell)
	}
	return strings.TrimRight(b.String(), " ")
}

// wrap writes text within the width, each line after the prefix.
func (p painter) wrap(prefix, text string) {
	for _, paragraph := range strings.Split(text, "\n") {
		line := prefix
		for i, word := range strings.Fields(paragraph) {
			if i > 0 && len([]rune(line))+1+len([]rune(word)) > width {
				fmt.Fprintln(p.w, line)
				line = prefix
			}
			if line != prefix {
				line += " "
			}
			line += word
		}
		fmt.Fprintln(p.w, line)
	}
}

// wantsColour reports whether w is a terminal whose user has nothing against
// colours (https://no-color.org).
func wantsColour(w *os.File) bool {
	info, err := w.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func shorten(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "..."
	}
	return text
}
