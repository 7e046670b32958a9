package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/steadymcp/steady/registry"
)

// TextOptions configures [Report.WriteText].
type TextOptions struct {
	Verbose bool // everything, with the evidence
	Colour  bool
	Lines   int // how many a summary may have; if zero, 24
	Width   int // how long they may be, in characters; if zero, 100
}

var colours = map[registry.Severity]string{registry.Error: "\x1b[31m", registry.Warning: "\x1b[33m", registry.Info: "\x1b[36m"}

// WriteText writes the worst first: a screen, or everything if verbose.
func (r *Report) WriteText(w io.Writer, opts TextOptions) error {
	if opts.Lines == 0 {
		opts.Lines = 24
	}
	if opts.Width == 0 {
		opts.Width = 100
	}
	var b bytes.Buffer
	r.writeHead(&b, opts)
	if opts.Verbose {
		r.writeAll(&b, opts)
	} else {
		r.writeScreen(&b, opts)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (r *Report) writeHead(b *bytes.Buffer, opts TextOptions) {
	name := strings.TrimSpace(Printable(r.Server + " " + r.Version))
	name = cut(name, opts.Width)
	target := cut(Printable(r.Target), opts.Width)
	if name != "" {
		fmt.Fprintf(b, "%s  (%s)\n", name, target)
	} else {
		fmt.Fprintf(b, "%s\n", target)
	}
	passed, skipped := 0, 0
	for _, o := range r.Outcomes {
		switch o.Status {
		case Passed:
			passed++
		case Skipped:
			skipped++
		}
	}
	fmt.Fprintf(b, "%s, %s, %d advice; %d of %d probes passed, %d skipped; %.0f s\n",
		count(r.Count(registry.Error), "error"), count(r.Count(registry.Warning), "warning"), r.Count(registry.Info),
		passed, len(r.Outcomes), skipped, r.Seconds)
	if len(r.Catalog) > 0 {
		c := r.Catalog[0]
		fmt.Fprintf(b, "%s, %d bytes, about %d tokens on every turn; fingerprint %.12s\n", count(len(r.Tools), "tool"), c.Bytes, c.Tokens, r.Fingerprint)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (o TextOptions) severity(s registry.Severity) string {
	text := fmt.Sprintf("%-7s", s)
	if o.Colour {
		return colours[s] + text + "\x1b[0m"
	}
	return text
}

// writeScreen writes one entry for each probe that found something.
func (r *Report) writeScreen(b *bytes.Buffer, opts TextOptions) {
	const headAndFoot = 7
	room := opts.Lines - headAndFoot
	groups := r.groups(false)
	b.WriteByte('\n')
	if len(groups) == 0 {
		b.WriteString("nothing found\n")
	}
	shown := 0
	for _, g := range groups {
		lines := 1
		if g.Severity != registry.Info {
			lines = 2
		}
		if room < lines {
			break
		}
		room -= lines
		shown++
		f := g.Findings[0]
		text := Printable(about(f))
		if n := len(g.Findings) - 1; n > 0 {
			text = fmt.Sprintf("%s (+%d)", cut(text, opts.Width-34-6), n)
		}
		fmt.Fprintf(b, "%s  %-22s  %s\n", opts.severity(g.Severity), g.Probe, cut(text, opts.Width-33))
		if g.Severity != registry.Info {
			fmt.Fprintf(b, "         %-22s  %s\n", "", cut("fix: "+f.Fix, opts.Width-33))
		}
	}
	if n := len(groups) - shown; n > 0 {
		fmt.Fprintf(b, "… and what %s found\n", count(n, "more probe"))
	}
	if names := r.notCalled(); len(names) > 0 {
		fmt.Fprintln(b, cut(fmt.Sprintf("not called: %s", strings.Join(names, ", ")), opts.Width))
	}
	known := 0
	for _, f := range r.Findings {
		if f.Known {
			known++
		}
	}
	if known > 0 || len(r.Mended) > 0 {
		fmt.Fprintf(b, "%d known from the baseline, %d of it mended\n", known, len(r.Mended))
	}
	b.WriteString("-v shows everything, with what was sent and received\n")
}

// notCalled names the tools that were not called, with the reason once.
func (r *Report) notCalled() (out []string) {
	byReason := map[string]int{}
	for _, t := range r.Tools {
		if t.Reason == "" {
			continue
		}
		if i, ok := byReason[t.Reason]; ok {
			out[i-1] = strings.TrimSuffix(out[i-1], " ("+t.Reason+")") + " " + Printable(t.Name) + " (" + t.Reason + ")"
			continue
		}
		out = append(out, Printable(t.Name)+" ("+t.Reason+")")
		byReason[t.Reason] = len(out)
	}
	return out
}

func about(f Finding) string {
	if f.Subject == "" {
		return f.Message
	}
	return f.Subject + ": " + f.Message
}

func (r *Report) writeAll(b *bytes.Buffer, opts TextOptions) {
	for _, c := range r.Catalog {
		if c.Budget.Bytes > 0 {
			fmt.Fprintf(b, "  %-8s %d%% of the budget\n", c.Profile, c.Bytes*100/c.Budget.Bytes)
		}
	}
	for _, g := range r.groups(true) {
		fmt.Fprintf(b, "\n%s  %s\n", opts.severity(g.Severity), g.Probe)
		for _, f := range g.Findings {
			fmt.Fprintf(b, "  %s", Printable(about(f)))
			if f.Times > 1 {
				fmt.Fprintf(b, " (%d times)", f.Times)
			}
			if f.Known {
				b.WriteString(" (known)")
			}
			b.WriteByte('\n')
			if f.Sent != "" {
				fmt.Fprintf(b, "    sent:     %s\n", Printable(f.Sent))
			}
			if f.Received != "" {
				fmt.Fprintf(b, "    received: %s\n", Printable(f.Received))
			}
		}
		f := g.Findings[0]
		fmt.Fprintf(b, "  why: %s\n  fix: %s\n", f.Why, f.Fix)
		if f.Source != "" {
			fmt.Fprintf(b, "  see: %s\n", f.Source)
		}
	}
	if len(r.Excepted) > 0 {
		b.WriteString("\nexcepted\n")
		for _, f := range r.Excepted {
			fmt.Fprintf(b, "  %s: %s (%s)\n", f.Probe, Printable(about(f)), Printable(f.Reason))
		}
	}
	if len(r.Mended) > 0 {
		b.WriteString("\nmended since the baseline\n")
		for _, key := range r.Mended {
			fmt.Fprintf(b, "  %s\n", Printable(key))
		}
	}
	b.WriteString("\ntools\n")
	for _, t := range r.Tools {
		if t.Reason != "" {
			fmt.Fprintf(b, "  %-24s %s, not called: %s\n", Printable(t.Name), t.Class, t.Reason)
		} else {
			fmt.Fprintf(b, "  %-24s %s, called %d times\n", Printable(t.Name), t.Class, t.Calls)
		}
	}
	b.WriteString("\nprobes\n")
	for _, o := range r.Outcomes {
		fmt.Fprintf(b, "  %-7s  %-22s  %s", o.Status, o.Probe, o.Title)
		if o.Reason != "" {
			fmt.Fprintf(b, " (%s)", Printable(o.Reason))
		}
		b.WriteByte('\n')
	}
}

// cut shortens text to width characters.
func cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(width-1, 0)]) + "…"
}
