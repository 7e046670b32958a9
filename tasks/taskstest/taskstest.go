// Package taskstest says in code what a [tasks.Store] must do.
//
//	func TestStore(t *testing.T) {
//		taskstest.Run(t, func(t *testing.T) tasks.Store { return openStore(t) })
//	}
package taskstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/steadymcp/steady/tasks"
)

// Run runs the suite. newStore returns a store without tasks; it closes what
// it opens by t.Cleanup. A store that only a test would make may be slow, but
// not by more than a second per operation.
func Run(t *testing.T, newStore func(t *testing.T) tasks.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s *suite)
	}{
		{"epoch", epoch},
		{"a record comes back as it went in", roundTrip},
		{"what is not there is not found", notFound},
		{"a held key is joined", joinByKey},
		{"a held identity is joined", joinByIdentity},
		{"a key wins over an identity", keyWins},
		{"keys are scoped by owner and tool", scope},
		{"a key is let go at its time", release},
		{"an expired task is not joined", expiredIsNotJoined},
		{"an expired task whose work goes on is joined", expiredButRunning},
		{"a key that joins by identity is held too", joinedKey},
		{"a key that joins prolongs the task", joinedKeyProlongs},
		{"keys that join are bounded", joinedKeysAreBounded},
		{"of many joining keys none runs twice", joinedKeyRace},
		{"of many creates one wins", createRace},
		{"of many updates one wins", updateRace},
		{"a lost update is refused", staleUpdate},
		{"what a task is does not change", immutableIdentity},
		{"a terminal task does not change", terminal},
		{"a terminal task lets go of its key later", terminalRelease},
		{"cancelling and completing has one winner", cancelRace},
		{"deleting needs the version", deletion},
		{"watching returns at once what is newer", watchNewer},
		{"watching waits for a change", watchWaits},
		{"watching ends with its context", watchContext},
		{"watching ends with the task", watchDeleted},
		{"watching loses no change", watchNoLostWakeUp},
		{"running lists an owner's own", running},
		{"sweep removes what has expired", sweep},
		{"sweep leaves what runs", sweepLeavesRunning},
		{"lost finds the tasks of dead workers", lost},
		{"bytes are kept as they are", bytesKept},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, &suite{T: t, Store: newStore(t), now: time.Now().Truncate(time.Second)})
		})
	}
}

// suite is one store under test and the time as it is told.
type suite struct {
	*testing.T
	tasks.Store
	now time.Time

	last int
}

func (s *suite) ctx() context.Context { return s.T.Context() }

// record returns a new task of owner "o" and tool "t".
func (s *suite) record() tasks.Record {
	s.last++
	return tasks.Record{
		ID: fmt.Sprintf("%s-%d-%d", s.Epoch(), time.Now().UnixNano(), s.last), Owner: "o", Tool: "t", Status: tasks.Working,
		Arguments: json.RawMessage(`{}`), ArgumentsHash: "h", Run: 1, CreatedAt: s.now, TTL: time.Hour, PollInterval: time.Second,
	}
}

func (s *suite) create(r tasks.Record) tasks.Record {
	s.Helper()
	got, created, err := s.Create(s.ctx(), s.now, r)
	s.ok(err)
	if !created {
		s.Fatalf("Create joined %s, want a new task", got.ID)
	}
	return got
}

func (s *suite) join(r tasks.Record) tasks.Record {
	s.Helper()
	got, created, err := s.Create(s.ctx(), s.now, r)
	s.ok(err)
	if created {
		s.Fatalf("Create made a new task, want it to join one")
	}
	return got
}

func (s *suite) update(r tasks.Record) tasks.Record {
	s.Helper()
	got, err := s.Update(s.ctx(), s.now, r)
	s.ok(err)
	return got
}

func (s *suite) end(r tasks.Record, status tasks.Status) tasks.Record {
	s.Helper()
	r.Status = status
	r.ExpiresAt = s.now.Add(r.TTL)
	r.KeyUntil, r.IdentityUntil = r.ExpiresAt, r.ExpiresAt
	if status == tasks.Completed {
		r.Result, r.Done = json.RawMessage(`{"content":[]}`), true
	}
	return s.update(r)
}

func (s *suite) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) is(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Fatalf("error %v, want %v", err, want)
	}
}

func (s *suite) same(got, want any) {
	s.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		s.Fatalf("got  %s\nwant %s", g, w)
	}
}

func epoch(t *testing.T, s *suite) {
	if e := s.Epoch(); !regexp.MustCompile(`^[a-z0-9]{1,16}$`).MatchString(e) || e != s.Epoch() {
		t.Fatalf("epoch %q", e)
	}
}

func roundTrip(t *testing.T, s *suite) {
	want := s.record()
	want.Responses, want.RequestState = json.RawMessage(`{"a":{"action":"accept"}}`), "state"
	want.Key, want.Identity = "k", "i"
	want.JoinedKeys = map[string]string{"other": "hash"}
	want.StatusMessage = "half\nway \u2028 \x00 done"
	want.Worker, want.RunAgain, want.Window = "w", true, time.Minute
	want.InputRequests = map[string]json.RawMessage{"q-1": json.RawMessage(`{"method":"elicitation/create"}`)}
	want.InputsAsked = 1
	want.Caller = tasks.Caller{Subject: "ada", Scopes: []string{"read"}, Expiration: s.now, Capabilities: json.RawMessage(`{"elicitation":{}}`), Follows: "extension",
		Token: &tasks.SealedToken{KeyID: "k", Bytes: []byte{0, 255}}}
	got := s.create(want)
	if got.Version != 1 {
		t.Fatalf("version %d, want 1", got.Version)
	}
	want.Version, want.UpdatedAt = 1, got.UpdatedAt
	s.same(got, want)
	got, err := s.Get(s.ctx(), want.ID)
	s.ok(err)
	s.same(got, want)

	s.now = s.now.Add(time.Second)
	want = got
	want.InputRequests = nil
	want.InputResponses = map[string]json.RawMessage{"q-1": json.RawMessage(`{"action":"decline"}`)}
	want.Answered = map[string]string{"q-1": "digest"}
	want.Parked, want.ParkedUntil = true, s.now.Add(time.Minute)
	want.Disclosed, want.Done = true, true
	want.Status, want.ExpiresAt = tasks.Failed, s.now.Add(time.Hour)
	want.Error = &tasks.Error{Code: -32603, Message: "m", Data: json.RawMessage(`{"a":1}`)}
	got = s.update(want)
	want.Version, want.UpdatedAt = 2, s.now
	s.same(got, want)
	got, err = s.Get(s.ctx(), want.ID)
	s.ok(err)
	s.same(got, want)
}

func notFound(_ *testing.T, s *suite) {
	r := s.record()
	_, err := s.Get(s.ctx(), r.ID)
	s.is(err, tasks.ErrNotFound)
	_, err = s.Update(s.ctx(), s.now, r)
	s.is(err, tasks.ErrNotFound)
	s.is(s.Delete(s.ctx(), r.ID, 1), tasks.ErrNotFound)
	_, err = s.Watch(s.ctx(), r.ID, 0)
	s.is(err, tasks.ErrNotFound)
}

func joinByKey(_ *testing.T, s *suite) {
	a, b := s.record(), s.record()
	a.Key, b.Key = "k", "k"
	b.ArgumentsHash = "other" // whether this is a conflict is not the store's business
	a = s.create(a)
	s.same(s.join(b), a)
	a = s.end(a, tasks.Completed)
	s.same(s.join(b), a)
}

func joinByIdentity(_ *testing.T, s *suite) {
	a, b := s.record(), s.record()
	a.Identity, b.Identity = "i", "i"
	a = s.create(a)
	s.same(s.join(b), a)
}

func keyWins(_ *testing.T, s *suite) {
	a, b, c := s.record(), s.record(), s.record()
	a.Key, b.Identity = "k", "i"
	a, _ = s.create(a), s.create(b)
	c.Key, c.Identity = "k", "i"
	s.same(s.join(c), a)
}

func scope(_ *testing.T, s *suite) {
	a := s.record()
	a.Key, a.Identity = "k", "i"
	s.create(a)
	b := a
	b.ID, b.Owner = s.record().ID, "other"
	s.create(b)
	b.ID, b.Owner, b.Tool = s.record().ID, "o", "other"
	s.create(b)
	b.ID, b.Tool, b.Key, b.Identity = s.record().ID, "t", "i", "k" // the two are different spaces
	s.create(b)
}

func release(_ *testing.T, s *suite) {
	a := s.record()
	a.Key, a.Identity = "k", "i"
	a = s.create(a)
	a.KeyUntil, a.IdentityUntil = s.now.Add(2*time.Second), s.now.Add(time.Second)
	a = s.update(a)
	b := s.record()
	b.Identity = "i"
	s.same(s.join(b), a)
	s.now = s.now.Add(time.Second) // "until" excludes the moment itself
	s.create(b)
	c := s.record()
	c.Key = "k"
	s.same(s.join(c), a)
	s.now = s.now.Add(time.Second)
	s.create(c)
	// The newer task holds the key now; what becomes of the older does not matter.
	a.Disclosed = true
	s.update(a)
	d := s.record()
	d.Key = "k"
	if got := s.join(d); got.ID != c.ID {
		s.Fatalf("joined %s, want %s", got.ID, c.ID)
	}
}

func expiredIsNotJoined(_ *testing.T, s *suite) {
	a := s.record()
	a.Key = "k"
	a = s.create(a)
	a.TTL = time.Second
	s.end(a, tasks.Completed)
	s.now = s.now.Add(time.Second)
	b := s.record()
	b.Key = "k"
	s.create(b)
}

// expiredButRunning: the work of a task that has ended goes on as long as its
// worker beats and is not taken off the task. Nothing must start beside it.
func expiredButRunning(t *testing.T, s *suite) {
	a := s.record()
	a.Key, a.Identity, a.Worker = "k", "i", "w"
	a = s.create(a)
	a.Status, a.ExpiresAt = tasks.Failed, s.now.Add(time.Second)
	a = s.update(a)
	byKey, byIdentity := s.record(), s.record()
	byKey.Key, byIdentity.Identity = "k", "i"
	for range 3 {
		s.now = s.now.Add(time.Minute)
		s.ok(s.Beat(s.ctx(), "w", s.now.Add(30*time.Second)))
		s.same(s.join(byKey), a)
		s.same(s.join(byIdentity), a)
		if n, err := s.Sweep(s.ctx(), s.now, 100); n != 0 || err != nil {
			t.Fatalf("swept %d (%v): its worker is alive", n, err)
		}
	}
	s.now = s.now.Add(30 * time.Second)
	s.create(byKey)
	if n, err := s.Sweep(s.ctx(), s.now, 100); n > 1 || err != nil {
		t.Fatalf("swept %d: %v", n, err)
	}
	_, err := s.Get(s.ctx(), a.ID)
	s.is(err, tasks.ErrNotFound)
}

func joinedKey(t *testing.T, s *suite) {
	a, b, c := s.record(), s.record(), s.record()
	a.Identity, a.Key = "i", "first"
	b.Identity, b.Key, b.ArgumentsHash = "i", "second", "other"
	a = s.create(a)
	got := s.join(b)
	if got.ID != a.ID || got.Version <= a.Version {
		t.Fatalf("joined %s version %d, want %s, changed", got.ID, got.Version, a.ID)
	}
	again := s.join(b)
	s.same(again, got)
	kept, err := s.Get(s.ctx(), a.ID)
	s.ok(err)
	s.same(kept, got)
	_, err = s.Update(s.ctx(), s.now, a)
	s.is(err, tasks.ErrConflict) // it does not know of the key
	c.Identity, c.Key = "unlike", "second"
	s.same(s.join(c), got)
	if hash, ok := got.KeyHash("second"); !ok || hash != "other" {
		t.Fatalf("the key came with the arguments %q (%v)", hash, ok)
	}
	got = s.end(got, tasks.Completed)
	s.same(s.join(c), got)
	got.KeyUntil = s.now
	s.update(got)
	s.create(c)
}

func joinedKeyProlongs(t *testing.T, s *suite) {
	a := s.record()
	a.Identity, a.TTL, a.Window = "i", time.Hour, time.Minute
	a = s.create(a)
	a.Status, a.Done, a.Result = tasks.Completed, true, json.RawMessage(`{"content":[]}`)
	a.ExpiresAt = s.now.Add(time.Minute)
	a.KeyUntil, a.IdentityUntil = a.ExpiresAt, a.ExpiresAt
	s.update(a)
	s.now = s.now.Add(59 * time.Second)
	b := s.record()
	b.Identity, b.Key = "i", "k"
	s.join(b)
	s.now = s.now.Add(time.Hour - time.Second)
	if n, err := s.Sweep(s.ctx(), s.now, 100); n != 0 || err != nil {
		t.Fatalf("swept %d (%v): the key is held for the time to live", n, err)
	}
	c := s.record()
	c.Key = "k"
	s.join(c)
	c.Key, c.Identity = "", "i"
	s.create(c) // the identity ended at its time
	s.now = s.now.Add(time.Second)
	if n, err := s.Sweep(s.ctx(), s.now, 100); n != 1 || err != nil {
		t.Fatalf("swept %d: %v", n, err)
	}
}

func joinedKeysAreBounded(t *testing.T, s *suite) {
	a := s.record()
	a.Identity = "i"
	s.create(a)
	for i := 0; ; i++ {
		b := s.record()
		b.Identity, b.Key = "i", fmt.Sprint(i)
		_, created, err := s.Create(s.ctx(), s.now, b)
		if created {
			t.Fatal("a second task was created")
		}
		if err != nil {
			s.is(err, tasks.ErrTooManyKeys)
			b.Key = "0"
			s.join(b)
			return
		}
		if i > 10_000 {
			t.Fatal("they are not")
		}
	}
}

func joinedKeyRace(t *testing.T, s *suite) {
	const callers = 60
	var created atomic.Int32
	recs := make([]tasks.Record, callers)
	for i := range recs {
		recs[i] = s.record()
		recs[i].Identity, recs[i].Key = "i", fmt.Sprint(i%10)
	}
	var wg sync.WaitGroup
	for _, r := range recs {
		wg.Go(func() {
			_, made, err := s.Create(t.Context(), s.now, r)
			if err != nil {
				t.Error(err)
			}
			if made {
				created.Add(1)
			}
		})
	}
	wg.Wait()
	if created.Load() != 1 {
		t.Fatalf("%d calls created a task, want 1", created.Load())
	}
	for i := range 10 {
		r := s.record()
		r.Key = fmt.Sprint(i)
		s.join(r)
	}
}

func createRace(t *testing.T, s *suite) {
	const callers = 100
	recs := make([]tasks.Record, callers)
	for i := range recs {
		recs[i] = s.record()
		recs[i].Identity = "i"
		if i%2 == 0 {
			recs[i].Key = "k"
		}
	}
	var created atomic.Int32
	ids := make([]string, callers)
	var wg sync.WaitGroup
	for i := range recs {
		wg.Go(func() {
			got, made, err := s.Create(t.Context(), s.now, recs[i])
			if err != nil {
				t.Error(err)
			}
			if made {
				created.Add(1)
			}
			ids[i] = got.ID
		})
	}
	wg.Wait()
	if n := created.Load(); n != 1 {
		t.Fatalf("%d of %d calls created a task, want 1", n, callers)
	}
	if len(slices.Compact(ids)) != 1 {
		t.Fatalf("the callers got different tasks: %v", slices.Compact(ids))
	}
}

func updateRace(t *testing.T, s *suite) {
	const writers, rounds = 8, 20
	a := s.create(s.record())
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range rounds {
				for {
					r, err := s.Get(t.Context(), a.ID)
					if err != nil {
						t.Error(err)
						return
					}
					r.InputsAsked++
					if _, err = s.Update(t.Context(), s.now, r); err == nil {
						break
					}
					if !errors.Is(err, tasks.ErrConflict) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	r, err := s.Get(t.Context(), a.ID)
	s.ok(err)
	if r.InputsAsked != writers*rounds || r.Version != 1+writers*rounds {
		t.Fatalf("%d updates, version %d: some were lost", r.InputsAsked, r.Version)
	}
}

func staleUpdate(_ *testing.T, s *suite) {
	a := s.create(s.record())
	s.update(a)
	_, err := s.Update(s.ctx(), s.now, a)
	s.is(err, tasks.ErrConflict)
}

func immutableIdentity(t *testing.T, s *suite) {
	a := s.create(s.record())
	for _, change := range []func(*tasks.Record){
		func(r *tasks.Record) { r.Owner = "x" },
		func(r *tasks.Record) { r.Tool = "x" },
		func(r *tasks.Record) { r.Key = "x" },
		func(r *tasks.Record) { r.Identity = "x" },
		func(r *tasks.Record) { r.JoinedKeys = map[string]string{"x": "h"} },
		func(r *tasks.Record) { r.Run = 0 },
	} {
		b := a
		change(&b)
		if _, err := s.Update(s.ctx(), s.now, b); err == nil {
			t.Fatalf("the store took %+v for an update of %+v", b, a)
		}
	}
}

func terminal(t *testing.T, s *suite) {
	for _, status := range []tasks.Status{tasks.Completed, tasks.Failed, tasks.Cancelled} {
		a := s.end(s.create(s.record()), status)
		for _, change := range []func(*tasks.Record){
			func(r *tasks.Record) { r.Status = tasks.Working },
			func(r *tasks.Record) { r.Status = tasks.InputRequired },
			func(r *tasks.Record) { r.StatusMessage = "x" },
			func(r *tasks.Record) { r.Done = !r.Done },
			func(r *tasks.Record) { r.Result = json.RawMessage(`{"x":1}`) },
			func(r *tasks.Record) { r.Error = &tasks.Error{Code: 1} },
			func(r *tasks.Record) { r.ExpiresAt = r.ExpiresAt.Add(time.Hour) },
			func(r *tasks.Record) { r.InputRequests = map[string]json.RawMessage{"q": json.RawMessage(`{}`)} },
		} {
			b := a
			change(&b)
			_, err := s.Update(s.ctx(), s.now, b)
			s.is(err, tasks.ErrTerminal)
		}
		got, err := s.Get(t.Context(), a.ID)
		s.ok(err)
		s.same(got, a)
	}
}

func terminalRelease(_ *testing.T, s *suite) {
	a := s.record()
	a.Key, a.Worker = "k", "w"
	a = s.create(a)
	a.Status, a.ExpiresAt = tasks.Cancelled, s.now.Add(time.Hour)
	a = s.update(a) // cancelled, but its work has not stopped
	b := s.record()
	b.Key = "k"
	s.same(s.join(b), a)
	a.Worker, a.KeyUntil, a.IdentityUntil = "", s.now, s.now
	s.update(a)
	s.create(b)
}

func cancelRace(t *testing.T, s *suite) {
	for range 20 {
		a := s.create(s.record())
		var won atomic.Int32
		var wg sync.WaitGroup
		for _, status := range []tasks.Status{tasks.Completed, tasks.Cancelled} {
			wg.Go(func() {
				r := a
				r.Status, r.ExpiresAt = status, s.now.Add(time.Hour)
				switch _, err := s.Update(t.Context(), s.now, r); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, tasks.ErrConflict):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d of 2 won, want 1", won.Load())
		}
	}
}

func deletion(_ *testing.T, s *suite) {
	a := s.record()
	a.Key = "k"
	a = s.create(a)
	b := s.update(a)
	s.is(s.Delete(s.ctx(), a.ID, a.Version), tasks.ErrConflict)
	s.ok(s.Delete(s.ctx(), b.ID, b.Version))
	_, err := s.Get(s.ctx(), a.ID)
	s.is(err, tasks.ErrNotFound)
	c := s.record()
	c.Key = "k"
	s.create(c)
}

func watchNewer(_ *testing.T, s *suite) {
	a := s.create(s.record())
	got, err := s.Watch(s.ctx(), a.ID, 0)
	s.ok(err)
	s.same(got, a)
	b := s.update(a)
	got, err = s.Watch(s.ctx(), a.ID, a.Version)
	s.ok(err)
	s.same(got, b)
}

func watchWaits(t *testing.T, s *suite) {
	a := s.create(s.record())
	got := make(chan tasks.Record, 10)
	var wg sync.WaitGroup
	for range cap(got) {
		wg.Go(func() {
			r, err := s.Watch(t.Context(), a.ID, a.Version)
			if err != nil {
				t.Error(err)
			}
			got <- r
		})
	}
	b := s.update(a)
	wg.Wait()
	for range cap(got) {
		s.same(<-got, b)
	}
}

func watchContext(t *testing.T, s *suite) {
	a := s.create(s.record())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.Watch(ctx, a.ID, a.Version)
		done <- err
	}()
	cancel()
	s.is(<-done, context.Canceled)
}

func watchDeleted(t *testing.T, s *suite) {
	a := s.create(s.record())
	done := make(chan error)
	go func() {
		_, err := s.Watch(t.Context(), a.ID, a.Version)
		done <- err
	}()
	s.ok(s.Delete(t.Context(), a.ID, a.Version))
	s.is(<-done, tasks.ErrNotFound)
}

func watchNoLostWakeUp(t *testing.T, s *suite) {
	const changes = 200
	a := s.create(s.record())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			version := a.Version
			for version < a.Version+changes {
				r, err := s.Watch(t.Context(), a.ID, version)
				if err != nil {
					t.Error(err)
					return
				}
				if r.Version <= version {
					t.Errorf("version %d after %d", r.Version, version)
					return
				}
				version = r.Version
			}
		})
	}
	r := a
	for range changes {
		r = s.update(r)
	}
	wg.Wait() // a lost wake-up hangs here
}

func running(_ *testing.T, s *suite) {
	var want []string
	for i := range 3 {
		r := s.record()
		r.CreatedAt, r.Disclosed = s.now.Add(time.Duration(i)*time.Second), true
		want = append(want, s.create(r).ID)
	}
	ended, hidden, foreign := s.record(), s.record(), s.record()
	ended.Disclosed, foreign.Disclosed, foreign.Owner = true, true, "other"
	s.end(s.create(ended), tasks.Completed)
	s.create(hidden)
	s.create(foreign)
	for limit := range 5 {
		recs, err := s.Running(s.ctx(), "o", limit)
		s.ok(err)
		got := []string{}
		for _, r := range recs {
			got = append(got, r.ID)
		}
		s.same(got, want[:min(limit, len(want))])
	}
}

func sweep(_ *testing.T, s *suite) {
	var recs []tasks.Record
	for i := range 10 {
		r := s.record()
		r.TTL = time.Duration(i+1) * time.Second
		recs = append(recs, s.end(s.create(r), tasks.Completed))
	}
	swept := func(limit, want int) {
		s.Helper()
		n, err := s.Sweep(s.ctx(), s.now, limit)
		s.ok(err)
		if n != want {
			s.Fatalf("swept %d, want %d", n, want)
		}
	}
	swept(100, 0)
	s.now = s.now.Add(5 * time.Second)
	_, err := s.Get(s.ctx(), recs[0].ID) // expired, not swept: the caller must see that it expired
	s.ok(err)
	swept(3, 3)
	swept(100, 2)
	swept(100, 0)
	for i, r := range recs {
		_, err := s.Get(s.ctx(), r.ID)
		if i < 5 {
			s.is(err, tasks.ErrNotFound)
		} else {
			s.ok(err)
		}
	}
}

func sweepLeavesRunning(_ *testing.T, s *suite) {
	a := s.create(s.record())
	s.now = s.now.Add(1000 * time.Hour)
	_, err := s.Sweep(s.ctx(), s.now, 100)
	s.ok(err)
	_, err = s.Get(s.ctx(), a.ID)
	s.ok(err)
}

func lost(_ *testing.T, s *suite) {
	lostIDs := func() []string {
		s.Helper()
		recs, err := s.Lost(s.ctx(), s.now, 100)
		s.ok(err)
		var ids []string
		for _, r := range recs {
			ids = append(ids, r.ID)
		}
		slices.Sort(ids)
		return ids
	}
	alive, dead, mute, cancelled, ended := s.record(), s.record(), s.record(), s.record(), s.record()
	alive.Worker, dead.Worker, mute.Worker, cancelled.Worker, ended.Worker = "alive", "dead", "mute", "dead", "dead"
	s.ok(s.Beat(s.ctx(), "alive", s.now.Add(time.Minute)))
	s.ok(s.Beat(s.ctx(), "dead", s.now.Add(time.Second)))
	alive, dead, _, cancelled, ended = s.create(alive), s.create(dead), s.create(mute), s.create(cancelled), s.create(ended)
	s.same(lostIDs(), []string(nil))
	cancelled = s.end(cancelled, tasks.Cancelled) // its work has not stopped
	ended.Worker = ""
	s.end(ended, tasks.Completed)
	s.now = s.now.Add(time.Second)
	want := []string{dead.ID, cancelled.ID}
	slices.Sort(want)
	s.same(lostIDs(), want)
	dead.Worker, dead.Run = "alive", 2 // taken over
	s.update(dead)
	s.same(lostIDs(), []string{cancelled.ID})
	s.ok(s.Beat(s.ctx(), "dead", s.now.Add(time.Second))) // it was only slow
	s.same(lostIDs(), []string(nil))
}

func bytesKept(t *testing.T, s *suite) {
	a := s.record()
	a.Arguments = json.RawMessage("{ \"b\":\"\\u0000\\ud800\", \"n\":9007199254740993, \"a\":1e400 }")
	a = s.create(a)
	a.Status, a.ExpiresAt = tasks.Completed, s.now.Add(time.Hour)
	a.Result = fmt.Appendf(nil, `{"content":[],"structuredContent":{"b":1,"a":18446744073709551616,"c":%q}}`, strings.Repeat("x", 3<<20))
	s.update(a)
	got, err := s.Get(t.Context(), a.ID)
	s.ok(err)
	if string(got.Arguments) != string(a.Arguments) || string(got.Result) != string(a.Result) {
		t.Fatalf("got %s, and %d bytes of result, want %d", got.Arguments, len(got.Result), len(a.Result))
	}
}
