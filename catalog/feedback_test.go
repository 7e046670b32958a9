package catalog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/errors"
)

func report(endpoint, got string) map[string]any {
	return map[string]any{"category": "stale", "severity": "high", "endpoint": endpoint, "expected": "close of 2026-11-28: 231.40", "got": got, "source": "exchange bulletin of 2026-11-28"}
}

func TestFeedbackTool(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		var got []Report
		rec := &recorder{}
		d := newDesktop(t, revision, Options{Observer: rec, Feedback: &FeedbackOptions{Sink: SinkFunc(func(_ context.Context, r Report) error {
			got = append(got, r)
			return nil
		})}})
		require.Contains(t, toolNames(t, d.ClientSession), "submit_feedback")
		require.Contains(t, d.catalog.Instructions(), "submit_feedback")
		send := func(m map[string]any) string {
			b, err := json.Marshal(m)
			require.NoError(t, err)
			return string(b)
		}
		for range 2 {
			require.Equal(t, map[string]any{"accepted": true}, d.data(t, "submit_feedback", send(report("prices", "close of 2026-11-21: 229.10"))))
		}
		require.Len(t, got, 1, "an equal report is one")
		require.Equal(t, "prices", got[0].Endpoint)
		require.True(t, got[0].Known)
		require.Equal(t, "stale", got[0].Category)
		d.data(t, "submit_feedback", send(report("/v1/prices/AAPL?days=3", "nothing\x1b[2J\u202eat all\r\nFORGED")))
		require.Equal(t, "prices", got[1].Endpoint, "a path is the entry's")
		require.Equal(t, "nothing[2Jat all\nFORGED", got[1].Got)
		d.data(t, "submit_feedback", send(report("somewhere else", "nothing at all")))
		require.False(t, got[2].Known)

		for want, change := range map[string]map[string]any{
			"names no value":    {"got": "   ?! \u200b      "},
			"minLength":         {"got": ""},
			"is what came":      {"got": "Close of  2026-11-28: 231.40"},
			"enum":              {"category": "boring"},
			"maxLength":         {"expected": strings.Repeat("x", 3000)},
			"severity":          {"severity": 3},
			"caller":            {"caller": "somebody else"},
			"endpoint: minLeng": {"endpoint": ""},
		} {
			m := report("prices", "another value")
			for k, v := range change {
				m[k] = v
			}
			require.Contains(t, d.fails(t, "submit_feedback", send(m)), want)
		}
		require.Len(t, got, 3)
		// A value is short as often as not, and characters are no bytes.
		d.data(t, "submit_feedback", send(map[string]any{"category": "wrong", "severity": "low", "endpoint": "prices", "expected": "12 EUR", "got": "7", "source": "官方網站"}))
		require.Equal(t, "官方網站", got[3].Source)
		var b strings.Builder
		require.NoError(t, d.catalog.Gaps(&b))
		require.Regexp(t, `prices +stale +2`, b.String())
		for _, e := range rec.events {
			require.NotContains(t, fmt.Sprintf("%+v", e), "231.40", "events hold no texts")
		}
	})
}

func TestFeedbackIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := 0
		c, err := New(Static(market...), &Options{Observer: quiet, Feedback: &FeedbackOptions{PerHour: 3, Remember: 2 * time.Hour, Sink: SinkFunc(func(context.Context, Report) error { kept++; return nil })}})
		require.NoError(t, err)
		as := func(user string) *mcp.CallToolRequest {
			return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}, Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: user}}}
		}
		n := 0
		send := func(user string) error {
			n++
			_, err := c.submit(t.Context(), as(user), report("prices", fmt.Sprintf("value number %d", n)))
			return err
		}
		for range 3 {
			require.NoError(t, send("ada"))
		}
		time.Sleep(10 * time.Minute)
		err = send("ada")
		var f *errors.Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, errors.Retry{Policy: errors.RetryAfter, After: 50 * time.Minute}, f.Retry())
		require.NoError(t, send("bo"), "each caller by itself")
		time.Sleep(51 * time.Minute)
		require.NoError(t, send("ada"))
		n -= 2 // what bo said
		require.NoError(t, send("cy"))
		require.Equal(t, 5, kept, "said before")
		for i := range 3 * maxReportCallers {
			c.feedback.admit(fmt.Sprint(i))
		}
		require.LessOrEqual(t, len(c.feedback.callers), maxReportCallers)
		time.Sleep(time.Hour)
		require.NoError(t, send("new"), "old callers make room")
		for i := range 2 * maxRemembered {
			c.feedback.remembered(&Report{Got: fmt.Sprint(i)})
		}
		require.LessOrEqual(t, len(c.feedback.seen), maxRemembered)
		require.NoError(t, c.Close(t.Context()))
	})
}

func TestFeedbackSinkFails(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	failing := true
	c, err := New(Static(market...), &Options{Observer: rec, Feedback: &FeedbackOptions{Sink: SinkFunc(func(context.Context, Report) error {
		if failing {
			return errors.New("disk /var/lib/x is full")
		}
		return nil
	})}})
	require.NoError(t, err)
	_, err = c.submit(t.Context(), anyCall, report("prices", "another value"))
	require.ErrorContains(t, err, "could not be kept")
	require.NotContains(t, err.Error(), "/var/lib")
	require.Contains(t, rec.names(), "catalog.feedback_lost")
	failing = false
	_, err = c.submit(t.Context(), anyCall, report("prices", "another value"))
	require.NoError(t, err, "it was not remembered as made")
}

func lines(t *testing.T, path string) []Report {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var out []Report
	for s := bufio.NewScanner(f); s.Scan(); {
		var r Report
		require.NoError(t, json.Unmarshal(s.Bytes(), &r))
		out = append(out, r)
	}
	return out
}

func TestFileSink(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "feedback.jsonl")
	s, err := NewFileSink(path, &FileSinkOptions{MaxBytes: 600, Keep: 2})
	require.NoError(t, err)
	_, err = os.Stat(path)
	require.ErrorIs(t, err, os.ErrNotExist, "it is made at the first report")
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			if err := s.Report(t.Context(), Report{Got: fmt.Sprint(i, "\n", strings.Repeat("x", 50))}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	total := 0
	for _, name := range []string{path, path + ".1", path + ".2"} {
		n := lines(t, name)
		require.NotEmpty(t, n)
		require.LessOrEqual(t, len(n), 3)
		total += len(n)
	}
	_, err = os.Stat(path + ".3")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Less(t, total, 10, "the oldest are gone")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Report(t.Context(), Report{}), os.ErrClosed)

	// It goes on where another process stopped, and without keeping any.
	s, err = NewFileSink(path, &FileSinkOptions{MaxBytes: 600, Keep: -1})
	require.NoError(t, err)
	before := len(lines(t, path))
	require.NoError(t, s.Report(t.Context(), Report{Got: "again"}))
	require.Contains(t, []int{1, before + 1}, len(lines(t, path)))
	for range 10 {
		require.NoError(t, s.Report(t.Context(), Report{Got: strings.Repeat("y", 100)}))
	}
	require.Len(t, lines(t, path+".1"), len(lines(t, path+".1")))
	require.NoError(t, s.Close())

	_, err = NewFileSink("", nil)
	require.Error(t, err)
	s, err = NewFileSink(filepath.Join(t.TempDir(), "none", "x"), nil)
	require.NoError(t, err)
	require.Error(t, s.Report(t.Context(), Report{}))
}

func TestSlogSink(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, SlogSink(slog.New(slog.NewJSONHandler(&b, nil))).Report(t.Context(), Report{Category: "wrong", Got: "a\nb"}))
	require.Contains(t, b.String(), `"msg":"catalog.report"`)
	require.Contains(t, b.String(), `"got":"a\nb"`)
	require.NoError(t, SlogSink(nil).Report(t.Context(), Report{}))
}
