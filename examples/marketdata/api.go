package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An api is the HTTP API behind the server. It stands for somebody else's: it
// knows keys and quotas and nothing of the Model Context Protocol. What it
// offers is what its directory lists.
type api struct {
	directory *directory
	data      *data
	keys      []string
	quota     int           // calls of one key in a window
	window    time.Duration // after which the quota is fresh
	latency   time.Duration // of every call

	mu   sync.Mutex
	used map[string]*usage // by key, so there are no more than keys
}

type usage struct {
	inWindow int
	until    time.Time
	ever     int
}

func newAPI(c config, accounts []account) *api {
	a := &api{
		directory: &directory{file: c.catalog}, data: &data{c.seed},
		quota: c.quota, window: c.window, latency: c.latency, used: map[string]*usage{},
	}
	for _, account := range accounts {
		a.keys = append(a.keys, account.key)
		a.used[account.key] = &usage{}
	}
	return a
}

// serve listens on a loopback address, serves until the context ends and
// returns the API's base URL.
func (a *api) serve(ctx context.Context, port int) (base string, err error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	h := &http.Server{Handler: a, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn)}
	go func() { _ = h.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = h.Close() })
	return "http://" + listener.Addr().String(), nil
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/catalog.json" { // for everybody, and free
		a.directory.ServeHTTP(w, r)
		return
	}
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	use := a.used[key]
	if use == nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		problem(w, http.StatusUnauthorized, "this key is not known")
		return
	}
	if r.URL.Path == "/admin/usage" { // not listed, and not meant for models
		a.reportUsage(w)
		return
	}
	select {
	case <-time.After(a.latency):
	case <-r.Context().Done():
		return
	}
	if !a.admit(w.Header(), use) {
		problem(w, http.StatusTooManyRequests, "the quota is used up")
		return
	}
	endpoints, err := a.directory.endpoints()
	if err != nil {
		problem(w, http.StatusInternalServerError, err.Error())
		return
	}
	for _, e := range endpoints {
		inPath, ok := e.match(r.URL.EscapedPath())
		if !ok || r.Method != e.Method {
			continue
		}
		args, err := e.arguments(inPath, r.URL.Query())
		if err != nil {
			problem(w, http.StatusBadRequest, err.Error())
			return
		}
		answer, ok := a.data.answer(e, args)
		if !ok {
			problem(w, http.StatusNotFound, "there is no such company")
			return
		}
		reply(w, http.StatusOK, answer)
		return
	}
	problem(w, http.StatusNotFound, "there is no such endpoint")
}

// admit counts a call and says in the header how many are left.
func (a *api) admit(header http.Header, use *usage) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if now.After(use.until) {
		use.inWindow, use.until = 0, now.Add(a.window)
	}
	use.ever++
	ok := use.inWindow < a.quota
	if ok {
		use.inWindow++
	}
	reset := strconv.Itoa(int(math.Ceil(use.until.Sub(now).Seconds())))
	header.Set("X-RateLimit-Limit", strconv.Itoa(a.quota))
	header.Set("X-RateLimit-Remaining", strconv.Itoa(a.quota-use.inWindow))
	header.Set("X-RateLimit-Reset", reset)
	if !ok {
		header.Set("Retry-After", reset)
	}
	return ok
}

// reportUsage tells how many calls each key has made, refused ones too.
func (a *api) reportUsage(w http.ResponseWriter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := map[string]int{}
	for key, use := range a.used {
		calls[key] = use.ever
	}
	reply(w, http.StatusOK, calls)
}

func problem(w http.ResponseWriter, status int, text string) {
	reply(w, status, map[string]string{"error": text})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// arguments reads and checks what a call was given. The API trusts nobody, so
// it checks again what the server has checked.
func (e *endpoint) arguments(inPath map[string]string, query url.Values) (map[string]any, error) {
	args := map[string]any{}
	for name, value := range inPath {
		query[name] = []string{value}
	}
	for name, values := range query {
		p, ok := e.Parameters.Properties[name]
		if !ok {
			return nil, fmt.Errorf("there is no parameter %q", name)
		}
		value, err := p.read(values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		args[name] = value
	}
	for _, name := range e.Parameters.Required {
		if args[name] == nil {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	return args, nil
}
