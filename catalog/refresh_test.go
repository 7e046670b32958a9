package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/observe"
)

// slowSource answers after a while with what it is told to.
type slowSource struct {
	mu      sync.Mutex
	loads   int
	takes   time.Duration
	entries []Entry
	version string
	err     error
	panics  bool
}

func (s *slowSource) set(f func()) { s.mu.Lock(); defer s.mu.Unlock(); f() }

func (s *slowSource) count() int { s.mu.Lock(); defer s.mu.Unlock(); return s.loads }

func (s *slowSource) Load(ctx context.Context, have string) (*Snapshot, error) {
	s.mu.Lock()
	s.loads++
	takes, entries, version, err, panics := s.takes, s.entries, s.version, s.err, s.panics
	s.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch {
	case panics:
		panic("a bug in a source")
	case err != nil:
		return nil, err
	case have == version:
		return nil, ErrUnchanged
	}
	return &Snapshot{Version: version, Entries: entries}, nil
}

type recorder struct {
	mu     sync.Mutex
	events []observe.Event
}

func (r *recorder) Observe(_ context.Context, e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []string{}
	for _, e := range r.events {
		out = append(out, e.EventName())
		_ = e.LogValue()
	}
	return out
}

func found(t *testing.T, c *Catalog, question string) []string {
	e, err := c.edition(t.Context(), anyCall)
	require.NoError(t, err)
	return ids(e.index.Search(question, 3))
}

func TestOneLoadPerInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowSource{takes: 2 * time.Second, version: "1", entries: []Entry{{ID: "lamps", Summary: "List lamps"}}}
		rec := &recorder{}
		c, err := New(s, &Options{Interval: 10 * time.Minute, Observer: rec})
		require.NoError(t, err)
		ask := func() {
			var wg sync.WaitGroup
			for range 200 {
				wg.Go(func() {
					if got := found(t, c, "lamps"); len(got) != 1 {
						t.Errorf("found %v", got)
					}
				})
			}
			wg.Wait()
		}
		ask()
		require.Equal(t, 1, s.count(), "all wait for the first load")
		for range 8 {
			time.Sleep(time.Minute)
			ask()
		}
		require.Equal(t, 1, s.count())

		// A new entry is there after the next interval, and nobody waits for it.
		s.set(func() { s.version, s.entries = "2", append(s.entries, Entry{ID: "chairs", Summary: "List chairs"}) })
		time.Sleep(3*time.Minute + time.Second)
		before := time.Now()
		require.Empty(t, found(t, c, "chairs"))
		require.Zero(t, time.Since(before), "stale entries are given while new ones are loaded")
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"chairs"}, found(t, c, "chairs"))
		require.Equal(t, 2, s.count())
		require.Equal(t, []string{"catalog.refreshed", "catalog.refreshed"}, rec.names())
		require.NoError(t, c.Close(t.Context()))
		require.NoError(t, c.Close(t.Context()))
	})
}

func TestLastGoodCopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowSource{version: "1", entries: []Entry{{ID: "lamps", Summary: "List lamps"}}}
		rec := &recorder{}
		c, err := New(s, &Options{Interval: 10 * time.Minute, Observer: rec})
		require.NoError(t, err)
		require.Equal(t, []string{"lamps"}, found(t, c, "lamps"))
		s.set(func() { s.err = errors.New("no") })
		for range 60 {
			time.Sleep(time.Minute)
			require.Equal(t, []string{"lamps"}, found(t, c, "lamps"))
			synctest.Wait()
		}
		age, ok := c.Age()
		require.True(t, ok)
		require.Equal(t, time.Hour, age)
		r, err := c.find(t.Context(), anyCall, map[string]any{"question": "lamps"})
		require.NoError(t, err)
		require.Contains(t, text(r), `"stale_seconds":3600`)
		require.LessOrEqual(t, s.count(), 62, "a failure is not repeated more often than twice a minute")
		s.set(func() { s.panics = true })
		require.ErrorContains(t, c.Refresh(t.Context()), "panicked")
		require.Equal(t, []string{"lamps"}, found(t, c, "lamps"))
		s.set(func() { s.panics, s.err = false, nil })
		require.NoError(t, c.Refresh(t.Context()), "unchanged is fresh")
		age, _ = c.Age()
		require.Zero(t, age)
		// What is malformed altogether does not replace what is good.
		s.set(func() { s.version, s.entries = "2", []Entry{{ID: "?"}} })
		require.ErrorContains(t, c.Refresh(t.Context()), "well-formed")
		require.Equal(t, []string{"lamps"}, found(t, c, "lamps"))
		require.Contains(t, rec.names(), "catalog.refresh_failed")
	})
}

func TestFirstLoadFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowSource{err: errors.New("db.internal does not resolve"), takes: time.Second}
		c, err := New(s, &Options{Observer: quiet})
		require.NoError(t, err)
		_, err = c.edition(t.Context(), anyCall)
		var f *errors.Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, errors.KindUnavailable, f.Kind())
		require.NotContains(t, f.Error(), "db.internal")
		for range 100 {
			_, err = c.edition(t.Context(), anyCall)
			require.Error(t, err)
		}
		require.Equal(t, 1, s.count(), "the next attempt waits")
		_, known := c.Age()
		require.False(t, known)

		s.set(func() { s.takes = time.Hour })
		time.Sleep(retryInterval)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = c.edition(ctx, anyCall)
		require.ErrorIs(t, err, context.DeadlineExceeded, "a caller does not wait longer than it wants to")
		require.NoError(t, c.Close(t.Context()), "closing ends the load")
		_, err = c.edition(t.Context(), anyCall)
		require.Error(t, err)
	})
}

func TestSeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowSource{err: errors.New("no"), takes: time.Second}
		c, err := New(s, &Options{Seed: Static(Entry{ID: "lamps", Summary: "List lamps"}), Observer: quiet})
		require.NoError(t, err)
		require.Equal(t, []string{"lamps"}, found(t, c, "lamps"))
		synctest.Wait()
		s.set(func() { s.err, s.version, s.entries = nil, "1", []Entry{{ID: "chairs", Summary: "List chairs"}} })
		time.Sleep(time.Minute)
		require.Equal(t, []string{"lamps"}, found(t, c, "lamps"))
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"chairs"}, found(t, c, "chairs"))
		_, err = New(s, &Options{Seed: &slowSource{err: errors.New("bad seed")}})
		require.ErrorContains(t, err, "bad seed")
		require.NoError(t, c.Close(t.Context()))
	})
}

func TestMalformedEntriesAreLeftOut(t *testing.T) {
	t.Parallel()
	source, err := JSON([]byte(`{"version": 7, "entries": [
		{"id": "good", "summary": "Good", "method": "GET", "path": "/v1/{a}", "parameters": {"type":"object","properties":{"a":{"type":"string"}}}},
		{"id": "good", "summary": "again"},
		{"id": "no such type", "summary": 1},
		{"id": "../up", "summary": "x"},
		{"id": "a..b"},
		{"id": ""},
		17, null, [],
		{"id": "m1", "method": "GET"},
		{"id": "m2", "method": "TRACE", "path": "/x"},
		{"id": "m3", "path": "/x"},
		{"id": "p1", "method": "GET", "path": "//evil/x"},
		{"id": "p2", "method": "GET", "path": "/v1/../x"},
		{"id": "p3", "method": "GET", "path": "http://evil/x"},
		{"id": "p4", "method": "GET", "path": "/v1/{a}"},
		{"id": "p5", "method": "GET", "path": "/v1/{a", "parameters": {"type":"object","properties":{"a":{}}}},
		{"id": "p6", "method": "GET", "path": "/v1/%2e%2e/x"},
		{"id": "s1", "parameters": {"type":"string"}},
		{"id": "s2", "parameters": {"type":"object","properties":7}},
		{"id": "s3", "parameters": {"type":"object","properties":{"a":{"$ref":"https://evil.example/schema"}}}},
		{"id": "r1", "method": "DELETE", "path": "/v1/x", "readOnly": true},
		{"id": "i1", "method": "GET", "path": "/v1/x", "in": {"Authorization":"header"}, "parameters": {"type":"object","properties":{"Authorization":{}}}},
		{"id": "i2", "method": "GET", "path": "/v1/x", "in": {"X-Access-Token":"header"}, "parameters": {"type":"object","properties":{"X-Access-Token":{}}}},
		{"id": "i3", "method": "GET", "path": "/v1/x", "in": {"a":"cookie"}, "parameters": {"type":"object","properties":{"a":{}}}},
		{"id": "i4", "method": "GET", "path": "/v1/x", "in": {"b":"query"}},
		{"id": "i5", "method": "GET", "path": "/v1/x", "in": {"a":"path"}, "parameters": {"type":"object","properties":{"a":{}}}},
		{"id": "i6", "method": "GET", "path": "/v1/x", "in": {"a b":"header"}, "parameters": {"type":"object","properties":{"a b":{}}}}
	]}`))
	require.NoError(t, err)
	rec := &recorder{}
	c, err := New(source, &Options{Observer: rec})
	require.NoError(t, err)
	e, err := c.edition(t.Context(), anyCall)
	require.NoError(t, err)
	require.Len(t, e.operations, 1)
	require.Len(t, e.problems, 27)
	for _, p := range e.problems {
		require.NotEmpty(t, p.Error())
		require.Error(t, p.Unwrap())
	}
	require.NoError(t, c.Close(t.Context())) // the report of the load is complete
	require.Contains(t, rec.names(), "catalog.left_out")
	for _, document := range []string{``, `{}`, `{"entries": 7}`, `[`, `"x"`, `null`} {
		_, err := JSON([]byte(document))
		require.Error(t, err, document)
	}
	_, err = JSON([]byte(`[{"id":"a"}]`))
	require.NoError(t, err)
}

func TestFetch(t *testing.T) {
	t.Parallel()
	var requests, unchanged atomic.Int32
	var document atomic.Value
	document.Store(`{"entries":[{"id":"lamps","summary":"List lamps"}]}`)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		body := document.Load().(string)
		etag := fmt.Sprintf("%q", fingerprint([]byte(body)))
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			unchanged.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if r.Header.Get("X-Key") != "k" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(body))
	}))
	defer api.Close()
	source, err := Fetch(api.URL+"/catalog.json?v=1", &FetchOptions{Header: http.Header{"x-key": {"k"}}})
	require.NoError(t, err)
	c, err := New(source, &Options{Observer: quiet})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() { found(t, c, "lamps") })
	}
	wg.Wait()
	require.EqualValues(t, 1, requests.Load(), "two hundred agents, one request")
	require.NoError(t, c.Refresh(t.Context()))
	require.EqualValues(t, 1, unchanged.Load())
	document.Store(`{"entries":[{"id":"chairs","summary":"List chairs"}]}`)
	require.NoError(t, c.Refresh(t.Context()))
	require.Equal(t, []string{"chairs"}, found(t, c, "chairs"))
	// Who changes the entries and forgets the version is understood.
	for _, id := range []string{"tables", "stools"} {
		document.Store(`{"version":"v7","entries":[{"id":"` + id + `"}]}`)
		require.NoError(t, c.Refresh(t.Context()))
		require.Equal(t, []string{id}, found(t, c, id))
	}
	document.Store(`{"entries":[{"id":"chairs","summary":"List chairs"}]}`)
	require.NoError(t, c.Refresh(t.Context()))
	for _, bad := range []string{"garbage", `{"entries":[` + strings.Repeat(" ", 17<<20) + `]}`, `{"entries":`} {
		document.Store(bad)
		require.Error(t, c.Refresh(t.Context()))
		require.Equal(t, []string{"chairs"}, found(t, c, "chairs"))
	}
	for _, address := range []string{"http://example.com/x", "ftp://h/x", "https://u:p@h/x", "x", "https://h/../x", "https://h/x#y", "https://h\x00/"} {
		_, err := Fetch(address, nil)
		require.Error(t, err, address)
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`[]`, `{"entries":[{"id":"a","parameters":{"type":"object"}}]}`, `{"version":1,"entries":[null,1,{"id":2}]}`, `[{"id":"a","method":"GET","path":"/{x}","in":{"x":"path"}}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		s, err := parseSnapshot(document)
		if err != nil {
			return
		}
		e := newEdition(s, &IndexOptions{Expander: NoExpansion})
		e.index.Search("a b", 3)
		for i := range e.operations {
			op := &e.operations[i]
			_ = op.example
			_ = op.usage()
			if _, err := json.Marshal(op.Entry); err != nil {
				t.Fatal(err)
			}
		}
	})
}
