package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/doctor"
	"github.com/steadymcp/steady/cmd/steady/internal/report"
)

// mistakes are those that the fixture can make, with the probes that find them
// and no other: want must be found, also may be, because the mistake shows there
// too.
var mistakes = []struct {
	name, want, also, flags string
}{
	{name: ""},

	{name: "banner", want: "stdout-handshake"},
	{name: "talks-when-idle", want: "stdout-idle", also: "stdout-call stdout-handshake"},
	{name: "prints-in-call", want: "stdout-call"},
	{name: "logs-json", want: "stdout-call"},
	{name: "prints-half-a-line", want: "stdout-partial", also: "stdout-call"},
	{name: "debug-banner", want: "stdout-environment"},
	{name: "child-with-stdin", want: "stdin-child", also: "cancel-ignored"},
	{name: "child-with-stdout", want: "stdout-child", also: "cancel-ignored"},

	{name: "dies-of-garbage", want: "line-malformed"},
	{name: "dies-of-shape", want: "line-shape"},
	{name: "dies-of-batch", want: "line-batch"},
	{name: "dies-of-bom", want: "line-bom"},
	{name: "dies-of-blanks", want: "line-blank"},
	{name: "dies-of-depth", want: "line-deep"},
	{name: "small-buffer", want: "line-long", also: "crash hostile-arguments"},
	{name: "drops-pieces", want: "line-partial", flags: "-timeout 4s"},

	{name: "drops-at-eof", want: "eof-replies"},
	{name: "stays", want: "eof-exit"},
	{name: "fails-at-eof", want: "exit-status"},
	{name: "leaves-child", want: "exit-orphans"},
	{name: "leaves-daemon", want: "exit-orphans"},
	{name: "ignores-sigterm", want: "sigterm-exit"},
	{name: "drops-at-sigterm", want: "sigterm-replies"},

	{name: "shuffled", want: "list-order"},
	{name: "dated", want: "list-bytes"},
	{name: "lists-for-ever", want: "list-walk", also: "lint/name-duplicate lint/name-folded-duplicate lint/description-near-duplicate"},
	{name: "lists-any-cursor", want: "list-cursor"},
	{name: "fails-to-list", want: "list-failed", also: "list-cursor"},
	{name: "announces-nothing", want: "capability"},
	{name: "promises-prompts", want: "capability"},
	{name: "undescribed", want: "lint/description-missing"},
	{name: "unannotated", want: "lint/hint-missing"},

	{name: "no-ping", want: "ping", also: "line-blank line-partial line-long"},
	{name: "loses-text-ids", want: "id-echo", also: "stray-answer", flags: "-timeout 2s"},
	{name: "silent-about-methods", want: "unknown-method", flags: "-timeout 2s"},
	{name: "answers-notifications", want: "notification-answered", also: "stray-answer"},
	{name: "answers-twice", want: "stray-answer"},
	{name: "agrees-to-anything", want: "version-echo"},
	{name: "anonymous", want: "server-info"},

	{name: "never-answers", want: "no-answer", flags: "-timeout 2s"},
	{name: "gets-stuck", want: "no-answer", flags: "-timeout 2s -only listing,calls,names,arguments,hostile,time"},
	{name: "floods", want: "result-size", also: "stdout-call stdout-partial", flags: "-timeout 5s"},
	{name: "throws", want: "failure-internal"},
	{name: "code-zero", want: "failure-internal"},
	{name: "fails-without-a-word", want: "error-silent"},
	{name: "no-content", want: "result-shape"},
	{name: "content-is-text", want: "result-shape"},
	{name: "null-list", want: "output-schema", also: "cursor-bogus"},
	{name: "no-structure", want: "output-schema"},
	{name: "leaks-go-stack", want: "leak-stack"},
	{name: "leaks-js-stack", want: "leak-stack leak-internals", also: "leak-path"},
	{name: "leaks-python-stack", want: "leak-stack leak-internals"},
	{name: "leaks-sql", want: "leak-sql"},
	{name: "leaks-query", want: "leak-sql"},
	{name: "leaks-password", want: "leak-credential"},
	{name: "leaks-token", want: "leak-credential"},
	{name: "leaks-path", want: "leak-path"},
	{name: "leaks-host", want: "leak-host"},
	{name: "leaks-exception", want: "leak-internals"},
	{name: "shows-environment", want: "leak-environment", also: "result-size"},
	{name: "breaks-on-lists", want: "params-code", also: "arg-absent"},
	{name: "sleeps", want: "slow-call", flags: "-timeout 2s"},
	{name: "panics-on-a-record", want: "crash"},
	{name: "dies-later", want: "crash", also: "concurrency-broken hostile-arguments"},
	{name: "large", want: "result-size", also: "limit-huge cursor-bogus"},
	{name: "bad-utf8", want: "result-encoding"},

	{name: "knows-every-tool", want: "unknown-tool", also: "unknown-tool-hint"},
	{name: "strict-names", want: "unknown-tool-hint name-case name-prefix"},

	{name: "requires-nothing", want: "arg-missing"},
	{name: "unnamed-refusals", want: "arg-unnamed"},
	{name: "unchecked-types", want: "arg-type"},
	{name: "unchecked-enum", want: "enum-unchecked"},
	{name: "ignores-extra", want: "arg-extra"},
	{name: "strict-arguments", want: "arg-null arg-stringified arg-wrapped enum-case"},
	{name: "wants-arguments", want: "arg-absent"},

	{name: "limit-zero-is-all", want: "limit-zero"},
	{name: "limit-negative-is-all", want: "limit-negative"},
	{name: "limit-huge-obeyed", want: "limit-huge"},

	{name: "pages-for-ever", want: "walk-endless"},
	{name: "takes-any-cursor", want: "cursor-bogus"},
	{name: "refuses-empty-cursors", want: "cursor-empty"},
	{name: "cursor-works-once", want: "cursor-repeated"},
	{name: "takes-foreign-cursors", want: "cursor-foreign"},

	{name: "dies-of-long-text", want: "hostile-arguments crash"},
	{name: "reads-any-file", want: "path-escape"},
	{name: "runs-text", want: "injection"},

	{name: "knows-every-prompt", want: "unknown-prompt"},
	{name: "breaks-on-prompt", want: "prompt-arguments"},
	{name: "knows-every-resource", want: "unknown-resource"},
	{name: "unreadable-resource", want: "resource-failed"},

	{name: "sends-tasks", want: "task-unasked"},
	{name: "knows-every-task", want: "task-unknown"},
	{name: "loses-tasks", want: "task-poll"},

	{name: "heedless", want: "cancel-ignored"},
	{name: "dies-of-cancel", want: "cancel-breaks"},
	{name: "retry-writes-twice", want: "retry-duplicates", also: "repeat-duplicates cancel-ignored concurrency-unbounded"},
	{name: "adds-again", want: "repeat-duplicates"},
	{name: "archives-twice", want: "idempotent-lie"},
	{name: "changes-when-read", want: "readonly-lie"},
	{name: "loses-in-a-crowd", want: "concurrency-broken", flags: "-timeout 3s"},
	{name: "unbounded", want: "concurrency-unbounded"},
}

// needed returns the families that the probes are in, and what those need.
func needed(probes []string) string {
	only := []string{"listing", "calls"}
	for _, p := range doctor.Probes() {
		if slices.Contains(probes, p.ID) && !slices.Contains(only, p.Family) {
			only = append(only, p.Family)
		}
	}
	return strings.Join(only, ",")
}

// Every planted mistake is found, and nothing else is: by default by the
// families that are concerned, with STEADY_LONG=1 by all. The server without a
// mistake is always examined by all.
func TestPlantedMistakes(t *testing.T) {
	t.Parallel()
	require.Greater(t, len(mistakes), 40)
	fixture := build(t, "internal/fixture")
	// Most of a run is waiting, so more of them go on than there are processors.
	slots := make(chan struct{}, 6)
	reports := make([]chan *report.Report, len(mistakes))
	for i, m := range mistakes {
		reports[i] = make(chan *report.Report, 1)
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			flags := append([]string{"-write", "-profile", "generic"}, strings.Fields(m.flags)...)
			if m.name != "" && !strings.Contains(m.flags, "-only") && os.Getenv("STEADY_LONG") == "" {
				flags = append(flags, "-only", needed(strings.Fields(m.want+" "+m.also)))
			}
			reports[i] <- examine(t, append(flags, "--", fixture, "-mistake", m.name)...)
		}()
	}
	for i, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			r := <-reports[i]
			want, also := strings.Fields(m.want), strings.Fields(m.also)
			var found []string
			for _, f := range r.Findings {
				if !slices.Contains(found, f.Probe) {
					found = append(found, f.Probe)
				}
			}
			for _, probe := range want {
				require.Contains(t, found, probe, "missed\n"+explain(r))
			}
			for _, probe := range found {
				require.Contains(t, append(want, also...), probe, "a false alarm\n"+explain(r))
			}
		})
	}
}
